/**
 * The end of the service: every command is ended, everything of ours in the sandbox removed.
 * @module dsh-subprocess-native/lib/dispose
 */
import { throwAll, toError } from './errors.js'
import { answered } from './native.js'

/** Beyond the longest grace: what the ladder's end, the removal and a lost connection may take. */
const PATIENCE_MS = 10_000

/**
 * Ends everything. No step is left out because another failed.
 * @param {object} service with `native`, `live` and `terminals`
 */
export async function disposeAll({ native, live, terminals }) {
  const things = [...live, ...terminals]
  const longestGrace = Math.max(0, ...things.map(thing => thing.spec.graceMs))
  const deadline = deadlineAfter(longestGrace + PATIENCE_MS)
  const failures = []
  const note = error => { failures.push(error) }
  const ended = await Promise.race([
    Promise.all(things.map(thing => thing.end().catch(note))),
    deadline.reached,
  ])
  if (ended === undefined) note(unreachable(things))
  const removed = await Promise.race([
    Promise.all(native.shutDown().map(request => answered(request).then(({ error }) => {
      if (error !== null) note(toError(error))
    }))),
    deadline.reached,
  ])
  deadline.stop()
  if (removed === undefined && ended !== undefined) note(new Error('subprocess-e2b: the sandbox could not be reached to remove what is ours in it'))
  // Whoever still waits is told; nothing of ours holds the program any longer.
  native.close()
  throwAll(failures, 'subprocess-e2b: teardown failed')
}

function deadlineAfter(ms) {
  let timer
  const reached = new Promise(resolve => { timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1)) })
  return { reached, stop: () => clearTimeout(timer) }
}

function unreachable(things) {
  const names = things.filter(thing => !thing.isOver()).map(thing => `${thing.spec.argv[0]} (pid ${thing.pid})`)
  return new Error(`subprocess-e2b: the sandbox could not be reached to end ${names.join(', ')}`)
}
