/**
 * Node's own permissions.
 * @module dsh-subprocess-native/lib/local/permission
 */
import { toError } from '../errors.js'

/**
 * Refuses what Node's `child_process` refuses: the addon starts programs without asking Node. To be asked each time, since a permission can
 * be given up.
 * @param {string} provider who says so
 */
export function requireChildProcesses(provider) {
  // There is such a thing only where permissions are enforced.
  if (process.permission === undefined || process.permission.has('child')) return
  const message = `${provider}: Node's permissions allow no child processes here; --allow-child-process grants them`
  throw Object.assign(toError({ code: 'ERR_ACCESS_DENIED', message }), { permission: 'ChildProcess' })
}
