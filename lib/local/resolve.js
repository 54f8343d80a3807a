/**
 * `resolveExecutable` on this machine.
 * @module dsh-subprocess-native/lib/local/resolve
 */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { isAbsolute, resolve } from 'node:path'

/**
 * Finds an executable file.
 * @param {string} command an absolute path, or a bare name
 * @param {Readonly<Record<string, string>>} [env] `PATH` of it is searched; else that of `process.env`
 * @param {AbortSignal} [signal]
 * @returns {Promise<string>} an absolute path
 */
export async function resolveHere(command, env, signal) {
  if (command.length === 0) throw new Error('subprocess-local: executable must be non-empty')
  signal?.throwIfAborted()
  const shown = JSON.stringify(command)
  if (!isAbsolute(command) && command.includes('/')) {
    throw new Error(`subprocess-local: command ${shown} is a relative path; use an absolute path or a bare PATH name`)
  }
  const candidates = isAbsolute(command) ? [command] : onPath(command, searchPath(env))
  for (const candidate of candidates) {
    const found = await isExecutable(candidate)
    signal?.throwIfAborted()
    if (found) return candidate
  }
  throw new Error(isAbsolute(command)
    ? `subprocess-local: command ${shown} is not an executable file`
    : `subprocess-local: command ${shown} was not found on PATH`)
}

/** An explicit entry counts as it is: `undefined` is no path at all. */
function searchPath(env) {
  const { PATH: path } = 'PATH' in Object(env) ? env : process.env
  return path ?? ''
}

/** Relative entries count from the harness' working directory; an empty path has none. */
function onPath(command, path) {
  if (path === '') return []
  return path.split(':').map(directory => resolve(process.cwd(), directory, command))
}

async function isExecutable(path) {
  try {
    if (!(await stat(path)).isFile()) return false
    await access(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
