/**
 * Whose environment programs begin with: `process.env` at each spawn.
 * @module dsh-subprocess-native/lib/local/ambient
 */
import { NativeLocal } from '../native.js'
import { unspeakableEnvironment } from '../validate.js'

const own = process.env

/** Whether what is set in it arrives in the process' own environment. */
const isOfProcess = isBacked()

/** What Node has loaded in a thread that is a worker or can make one: such a one may share the environment (`SHARE_ENV`). */
const SHARING = new Set(['NativeModule internal/worker', 'NativeModule internal/main/worker_thread', 'NativeModule internal/process/worker_thread_only'])

let looked = 0
let isAlone = Array.isArray(process.moduleLoadList)

function isBacked() {
  const probe = `dsh_subprocess_probe_${process.pid}`
  own[probe] = '1'
  try {
    return NativeLocal.hasVariable(probe)
  } finally {
    delete own[probe]
  }
}

/** Whether this thread alone changes the process' own environment, and `process.env` is that. */
function isOnlyOurs() {
  const loaded = process.moduleLoadList
  while (isAlone && looked < loaded.length) isAlone = !SHARING.has(loaded[looked++])
  return isAlone && isOfProcess && process.env === own
}

/**
 * The environment as `NAME=value` entries with a NUL between them.
 *
 * As soon as a worker may share it (`SHARE_ENV`) and move it meanwhile, it is asked of Node, which locks it. Names first and then each
 * value: `Object.entries` takes five times as long. One string: handing over many takes longer than listing them.
 * @param {string} provider who refuses what no environment can hold
 * @returns {string | null} `null` is the process' own, which the addon reads itself: that takes a tenth of the time
 */
export function ambient(provider) {
  if (isOnlyOurs()) return null
  const { env } = process
  const entries = []
  // All that Node's own object has is enumerable, and asking whether it is takes as long as the names.
  for (const name of env === own ? Reflect.ownKeys(env) : Object.keys(env)) {
    const value = env[name]
    // Removed meanwhile, by a worker.
    if (value === undefined) continue
    const entry = `${name}=${value}`
    // Not in the system's, but in a worker's or a replaced one.
    if (entry.includes('\0')) throw unspeakableEnvironment(provider)
    entries.push(entry)
  }
  return entries.join('\0')
}
