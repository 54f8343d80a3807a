/**
 * A terminal on this machine.
 * @module dsh-subprocess-native/lib/local/terminal
 */
import { toError } from '../errors.js'
import { TerminalHandle } from '../terminal.js'
import { requireGrace, sizeOf, unspeakable, variables } from '../validate.js'
import { ambient } from './ambient.js'
import { requireChildProcesses } from './permission.js'

const PROVIDER = 'subprocess-local'

/** What a program in a terminal is told unless the spec says otherwise. */
const defaults = cwd => ({ TERM: 'dumb', PWD: cwd })

/**
 * Opens a terminal with a program in it. It is there, or was never, when this returns.
 * @param {object} service the provider
 * @param {object} spec
 * @returns {TerminalHandle}
 */
export function openTerminal(service, spec) {
  if (!spec.argv[0]) throw new Error(`${PROVIDER}: terminal argv must contain a program`)
  requireGrace(spec.graceMs)
  spec.signal?.throwIfAborted()
  const refusal = unspeakable(spec, PROVIDER)
  if (refusal !== undefined) throw refusal
  const size = sizeOf(spec, PROVIDER)
  requireChildProcesses(PROVIDER)
  const native = service.native.spawnTerminal({
    argv: [...spec.argv],
    cwd: spec.cwd,
    ambient: ambient(PROVIDER),
    env: variables({ ...defaults(spec.cwd), ...spec.env }),
    graceMs: spec.graceMs,
    ...size,
  })
  const failure = native.outcome()?.error
  if (failure != null) throw toError(failure)
  const terminal = new TerminalHandle(native, { ...spec, ...size }, () => service.terminals.delete(terminal), PROVIDER)
  service.terminals.add(terminal)
  return terminal
}
