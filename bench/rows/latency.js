/**
 * How long short commands take.
 * @module bench/rows/latency
 */
import { median } from '../statistics.js'

const ALL = ['bare', 'ts', 'native']
const FAR = { delayMs: 25 }
/** Between commands that are measured one by one, so that a pool of prepared processes is the steady state's. */
const REST_MS = 20

async function times(count, measure) {
  const taken = []
  for (let i = 0; i < count; i++) {
    await new Promise(resolve => setTimeout(resolve, REST_MS))
    taken.push(await measure())
  }
  return median(taken)
}

async function timed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

const warm = ({ subject }) => subject.collect(['true'])

function done(place, line, target) {
  return {
    name: `done-${place}`,
    what: `\`done\` of \`true\`, ${place === 'far' ? '50 ms round trip' : 'loopback'}`,
    unit: 'ms', target, subjects: ALL, line, timeoutMs: 120_000, prepare: warm,
    measure: ({ subject, quick }) => times(quick ? 5 : 20, () => timed(() => subject.collect(['true']))),
  }
}

function pid(place, line, target) {
  return {
    name: `pid-${place}`,
    what: `\`pid\` of \`true\`, ${place === 'far' ? '50 ms round trip' : 'loopback'}`,
    unit: 'ms', target, subjects: ALL, line, timeoutMs: 120_000, prepare: warm,
    measure: ({ subject, quick }) => times(quick ? 5 : 20, async () => {
      const running = subject.start(['true'])
      const taken = await running.started
      await running.done
      return taken
    }),
  }
}

/** @type {import('./index.js').Row[]} */
export const latencyRows = [
  done('near', undefined, '≤ 0.5× bare'),
  done('far', FAR, '≤ 1× bare'),
  pid('near', undefined, '≤ 1× bare'),
  pid('far', FAR, '≤ 1× bare'),
  {
    name: 'parallel-200',
    what: '200 commands in parallel',
    unit: 'ms', target: '≤ 0.5× bare', subjects: ALL, timeoutMs: 120_000, prepare: warm,
    measure: ({ subject }) => timed(() => Promise.all(Array.from({ length: 200 }, () => subject.collect(['true'])))),
  },
  {
    name: 'first-far',
    what: 'first command after `getSandbox()`, 50 ms round trip',
    unit: 'ms', target: '≤ 2 round trips', subjects: ['ts', 'native'], line: FAR, fresh: true, timeoutMs: 120_000,
    measure: ({ subject }) => timed(() => subject.collect(['true'])),
  },
]
