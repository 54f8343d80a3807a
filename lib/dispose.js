/**
 * The end of the service: every command is ended, everything of ours in the sandbox removed.
 * @module dsh-subprocess-native/lib/dispose
 */
import { throwAll, toError } from './errors.js'
import { answered } from './native.js'

/** Beyond the longest grace: what the ladder's end, a lost connection and the removal may take together. */
const PATIENCE_MS = 10_000
/** The last part of it is the removal's too: other sandboxes are cleaned up although one can't be reached. */
const REMOVAL_MS = 5_000

/**
 * Ends everything. No step is left out because another failed, and all of them have one deadline.
 * @param {object} service with `native`, `live`, `terminals` and `setups`, which were called off
 */
export async function disposeAll({ native, live, terminals, setups }) {
  const failures = []
  const note = error => { failures.push(error) }
  const asked = new Set()
  const endAll = async () => {
    const news = [...live, ...terminals].filter(thing => !asked.has(thing))
    for (const thing of news) asked.add(thing)
    await Promise.all(news.map(thing => thing.end().catch(note)))
  }
  const begun = new Set(setups)
  const deadline = performance.now() + longestGrace([...begun, ...live, ...terminals]) + PATIENCE_MS
  const left = () => Math.max(0, deadline - performance.now())
  const takenBack = [...begun].map(async setup => {
    await setup.ended
    begun.delete(setup)
    // It may have come about just before it was called off.
    await endAll()
  })
  const ends = Promise.all([endAll(), ...takenBack])

  await inTime(ends, left() - REMOVAL_MS)
  // What has not ended by now is ended by this as well, with its own grace: it is still waited for.
  const removals = Promise.all(native.shutDown().map(request => answered(request).then(({ error }) => {
    if (error !== null) note(toError(error))
  })))
  const [areEnded, isRemoved] = await Promise.all([inTime(ends, left()), inTime(removals, left())])
  const running = [...asked].filter(thing => !thing.isOver())
  if (begun.size > 0) {
    const programs = [...begun].map(({ spec }) => spec.argv[0])
    note(new Error(`subprocess-e2b: the sandbox could not be reached to take back a terminal that was being set up: ${programs.join(', ')}`))
  }
  if (!areEnded && running.length > 0) {
    note(new Error(`subprocess-e2b: the sandbox could not be reached to end ${running.map(named).join(', ')}`))
  }
  if (!isRemoved && failures.length === 0) {
    note(new Error('subprocess-e2b: the sandbox could not be reached to remove what is ours in it'))
  }
  // Whoever still waits is told; nothing of ours holds the program any longer.
  native.close()
  throwAll(failures, 'subprocess-e2b: teardown failed')
}

const longestGrace = things => Math.max(0, ...things.map(({ spec }) => spec.graceMs))

const named = ({ spec, pid }) => `${spec.argv[0]} (pid ${pid})`

/** Whether `promise` is over within `ms`. */
async function inTime(promise, ms) {
  let timer
  const late = new Promise(resolve => { timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1), false) })
  return Promise.race([promise.then(() => true), late]).finally(() => clearTimeout(timer))
}
