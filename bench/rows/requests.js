/**
 * How many HTTP requests commands cost.
 * @module bench/rows/requests
 */
const ALL = ['bare', 'ts', 'native']
const SETTLE_MS = 1_000

/** Waits; these rows measure over a time. */
const pass = ms => new Promise(resolve => setTimeout(resolve, ms))

/** @type {import('./index.js').Row[]} */
export const requestRows = [
  {
    name: 'requests-short',
    what: 'HTTP requests for one short collected command',
    unit: '',
    target: '0',
    subjects: ALL,
    line: {},
    timeoutMs: 60_000,
    prepare: ({ subject }) => subject.collect(['true']),
    async measure({ subject, requests }) {
      const commands = 10
      await pass(SETTLE_MS)
      const before = await requests()
      for (let i = 0; i < commands; i++) await subject.collect(['true'])
      await pass(SETTLE_MS)
      return (await requests() - before) / commands
    },
  },
  running(1),
  running(150),
]

function running(count) {
  return {
    name: `requests-running-${count}`,
    what: `requests a second while ${count} command${count === 1 ? ' just runs' : 's just run'}`,
    unit: '/s',
    target: '0',
    subjects: ALL,
    line: {},
    fresh: true,
    timeoutMs: 120_000,
    prepare: ({ subject }) => subject.collect(['true']),
    async measure({ subject, requests, quick }) {
      const running = Array.from({ length: count }, () => subject.start(['sleep', '1000']))
      await Promise.all(running.map(({ started }) => started))
      await pass(2 * SETTLE_MS)
      const seconds = quick ? 2 : 5
      const before = await requests()
      await pass(seconds * 1000)
      const rate = (await requests() - before) / seconds
      for (const { stop } of running) stop()
      return rate
    },
  }
}
