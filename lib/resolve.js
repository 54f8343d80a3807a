/**
 * `resolveExecutable`: which file a name means in the sandbox.
 * @module dsh-subprocess-native/lib/resolve
 */
import { posix } from 'node:path'
import { onAbort } from './abort.js'
import { toError } from './errors.js'
import { answered } from './native.js'

/**
 * Refuses names that mean nothing without a shell.
 * @param {string} command
 */
export function requireCommand(command) {
  const refuse = what => { throw new Error(`subprocess-e2b: ${what}`) }
  if (command.length === 0) refuse('executable name must be non-empty')
  if (command.includes('\0')) refuse('executable name must not contain NUL bytes')
  if (!command.startsWith('/') && command.includes('/')) {
    refuse(`command ${JSON.stringify(command)} is a relative path; use an absolute path or a bare PATH name`)
  }
}

/**
 * Asks the sandbox.
 * @param {object} native a NativeService
 * @param {string} sandboxId
 * @param {string} command
 * @param {{ path: string | null, cwd: string, signal?: AbortSignal }} options `path` null is the ambient one
 * @returns {Promise<string>} an absolute path
 */
export async function resolveIn(native, sandboxId, command, { path, cwd, signal }) {
  const answer = await answered(native.resolve(sandboxId, command, path, cwd), signal)
  if (answer.error !== null) throw toError({ ...answer.error, message: `subprocess-e2b: ${answer.error.message}` })
  // A relative entry of the path gives a path with dots in it.
  return command.startsWith('/') ? answer.path : posix.resolve(cwd, answer.path)
}

/**
 * Waits for a promise, or for the signal: then rejects with its reason, be it a string.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
export function unlessAborted(promise, signal) {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason)
    promise.then(resolve, reject).finally(onAbort(signal, giveUp))
    if (signal?.aborted) giveUp()
  })
}
