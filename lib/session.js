/**
 * Commands that an earlier process of the same harness left running (C80).
 * @module dsh-subprocess-native/lib/session
 */
import { Handle, outputSpec } from './handle.js'
import { requireGrace, requireOutputs } from './validate.js'
import { answered } from './native.js'
import { toError } from './errors.js'

const DEFAULT_GRACE_MS = 5_000
const DEFAULT_OUTPUT = { maxBytes: 1024 * 1024 }

/**
 * The commands in a sandbox that an earlier process of this harness started and that run.
 * @param {object} native NativeService
 * @param {string} sandboxId
 * @returns {Promise<{ id: number, pid: number, argv: string[] }[]>}
 */
export async function listRunning(native, sandboxId) {
  const { error, running } = await answered(native.listRunning(sandboxId))
  if (error !== null) throw toError(error)
  return running
}

/**
 * Goes on with one of them.
 * @param {object} service
 * @param {string} sandboxId
 * @param {{ id: number, pid: number, argv: string[] }} found
 * @param {{ stdout?: object | 'pipe', stderr?: object | 'pipe', graceMs?: number }} options
 * @returns {Handle}
 */
export function adopt(service, sandboxId, found, { stdout = DEFAULT_OUTPUT, stderr = DEFAULT_OUTPUT, graceMs = DEFAULT_GRACE_MS }) {
  requireGrace(graceMs)
  requireOutputs({ stdout, stderr })
  const native = service.native.adopt(sandboxId, found, outputSpec(stdout), outputSpec(stderr), graceMs)
  const handle = new Handle(native, { argv: found.argv, graceMs }, { stdin: 'ignore', stdout, stderr }, () => service.live.delete(handle))
  service.live.add(handle)
  return handle
}
