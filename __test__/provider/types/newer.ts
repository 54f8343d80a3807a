// Compiled by `types.test.js`, never run: the provider in the place of the seam package of the newer generation.
import Provider, { E2BSubprocessRuntime, E2BSubprocessService, type Handle, type SpawnSpec, type TerminalHandle, type TerminalSpec } from 'dsh-subprocess-native'
import * as companion from 'dsh-subprocess-native/invariant'
import { SubprocessRuntime as Seam, type SubprocessHandle, type SubprocessSpawnSpec, type SubprocessTerminalHandle, type SubprocessTerminalSpawnSpec } from 'dsh-subprocess-next'
import { Context } from '@deepseek-ai/cordis'

const ctx = new Context()
// An instance is taken for the seam package's own, whose members are protected and symbols; so is one of a subclass.
const seam: Seam = new Provider(ctx, { startupWaitMs: 5 })
class Mine extends E2BSubprocessRuntime {}
const mine: Seam = new Mine(ctx)
await ctx.plugin(Provider, { pollMs: 20 })

// Specs and handles of both sides are the same thing.
declare const theirSpec: SubprocessSpawnSpec
declare const ourSpec: SpawnSpec
declare const theirTerminalSpec: SubprocessTerminalSpawnSpec
declare const ourHandle: Handle
declare const theirHandle: SubprocessHandle
declare const ourTerminal: TerminalHandle
const spec: SpawnSpec = theirSpec
const handle: SubprocessHandle = ourHandle
const back: Handle = theirHandle
const terminalSpec: TerminalSpec = theirTerminalSpec
const terminal: SubprocessTerminalHandle = ourTerminal
const started: SubprocessHandle = seam.spawn(ourSpec)
const sameClass: typeof E2BSubprocessRuntime = E2BSubprocessService
const apply: (ctx: unknown) => Promise<() => void> = companion.apply
export { apply, back, handle, mine, sameClass, spec, started, terminal, terminalSpec }
