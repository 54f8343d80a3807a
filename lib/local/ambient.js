/**
 * Whose environment programs begin with: `process.env` at each spawn.
 * @module dsh-subprocess-native/lib/local/ambient
 */
import { isMainThread } from 'node:worker_threads'
import { NativeLocal } from '../native.js'

const own = process.env

/** Whether `process.env` is the one of the process, and only this thread changes it: not in a worker, not where it was replaced. */
const isOfProcess = isMainThread && isBacked()

/** Whether there was a worker, which may share the environment (`SHARE_ENV`) and change it while the addon reads; Node's own list is locked. */
let mayBeShared = false
process.once('worker', () => { mayBeShared = true })

/** Whether what is set here arrives in the process' own environment. */
function isBacked() {
  const probe = `dsh_subprocess_probe_${process.pid}`
  own[probe] = '1'
  try {
    return NativeLocal.hasVariable(probe)
  } finally {
    delete own[probe]
  }
}

/**
 * The environment as `NAME=value` entries.
 * @returns {string[] | null} `null` is the process' own, which the addon reads itself: listing `process.env` takes longer than
 *   starting a program
 */
export function ambient() {
  if (isOfProcess && !mayBeShared && process.env === own) return null
  return Object.entries(process.env).flatMap(([name, value]) => value === undefined ? [] : [`${name}=${value}`])
}
