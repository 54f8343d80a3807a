/**
 * Whose environment programs begin with: `process.env` at each spawn.
 * @module dsh-subprocess-native/lib/local/ambient
 */
import { unspeakableEnvironment } from '../validate.js'

const own = process.env

/**
 * The environment as `NAME=value` entries with a NUL between them.
 *
 * It is asked of Node, which locks it. The addon must not read the process' own: a worker may share it (`SHARE_ENV`) and move it
 * meanwhile, and nothing tells of a worker that began before this module was loaded. Names first and then each value:
 * `Object.entries` takes five times as long. One string: handing over many takes longer than listing them.
 * @param {string} provider who refuses what no environment can hold
 * @returns {string}
 */
export function ambient(provider) {
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
