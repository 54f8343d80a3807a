// Compiled by `types.test.js`, never run: what a consumer without any seam package may write, and what it may not.
import Provider, { type Config, type E2BSubprocessRuntime, type OutputRead, type Outcome } from 'dsh-subprocess-native'

const filled: Config = Provider.Config({})
declare const service: E2BSubprocessRuntime
const spawned = service.spawn({
  argv: ['cat'],
  cwd: '/',
  stdio: { stdin: { data: 'x' }, stdout: { maxBytes: 1, spill: { maxBytes: 2 } }, stderr: 'inherit' },
  graceMs: 1,
  env: { A: 'b', C: undefined },
})
const read: OutputRead | undefined = spawned.collected.stdout?.readFrom(0)
const outcome: Outcome = await spawned.done
const terminal = await service.spawnTerminal({ argv: ['sh'], cwd: '/', rows: 1, cols: 1, graceMs: 1 })
terminal.resize(2, 2)
export { filled, outcome, read }

// @ts-expect-error: no such key
export const unknown: Config = { pollMS: 1 }
// @ts-expect-error: every part of a spec is said
service.spawn({ argv: ['true'], cwd: '/', graceMs: 1 })
// @ts-expect-error: read only
spawned.pid = 1
// @ts-expect-error: no such signal
terminal.signalForeground('SIGSTOP')
