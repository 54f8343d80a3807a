/**
 * The end of the service: every command is ended, everything of ours in the sandbox removed.
 * @module dsh-subprocess-native/lib/dispose
 */
import { throwAll, toError } from './errors.js'
import { answered } from './native.js'

/** Beyond the longest grace: what the ladder's end and a lost connection may take. */
const PATIENCE_MS = 10_000
/** What the removal may take, and what is left for that of other sandboxes after one could not be reached. */
const REMOVAL_MS = [10_000, 2_500]

/**
 * Ends everything. No step is left out because another failed.
 * @param {object} service with `native`, `live`, `terminals` and `setups`, which were called off
 */
export async function disposeAll({ native, live, terminals, setups }) {
  const failures = []
  const note = error => { failures.push(error) }
  const begun = [...setups]
  const takenBack = begun.map(setup => setup.ended)
  if (!await inTime(takenBack, longestGrace(begun) + PATIENCE_MS)) {
    note(new Error('subprocess-e2b: the sandbox could not be reached to take back a terminal that was being set up'))
  }
  const things = [...live, ...terminals]
  const ends = things.map(thing => thing.end().catch(note))
  if (!await inTime(ends, longestGrace(things.map(thing => thing.spec)) + PATIENCE_MS)) note(unreachable(things))
  const removals = native.shutDown().map(request => answered(request).then(({ error }) => {
    if (error !== null) note(toError(error))
  }))
  if (!await inTime(removals, REMOVAL_MS[failures.length === 0 ? 0 : 1]) && failures.length === 0) {
    note(new Error('subprocess-e2b: the sandbox could not be reached to remove what is ours in it'))
  }
  // Whoever still waits is told; nothing of ours holds the program any longer.
  native.close()
  throwAll(failures, 'subprocess-e2b: teardown failed')
}

const longestGrace = specs => Math.max(0, ...specs.map(({ graceMs }) => graceMs))

/** Whether all of `promises` are over within `ms`. */
async function inTime(promises, ms) {
  let timer
  const late = new Promise(resolve => { timer = setTimeout(resolve, Math.min(ms, 2 ** 31 - 1), false) })
  const all = Promise.all(promises).then(() => true)
  return Promise.race([all, late]).finally(() => clearTimeout(timer))
}

function unreachable(things) {
  const names = things.filter(thing => !thing.isOver()).map(thing => `${thing.spec.argv[0]} (pid ${thing.pid})`)
  return new Error(`subprocess-e2b: the sandbox could not be reached to end ${names.join(', ')}`)
}
