// Compiled by `types.test.js`, never run: what a consumer in TypeScript may write, and what it may not.
import Owner, {
  CommandExitError, E2BRuntime, E2BSandboxService, FileNotFoundError, FileType, Sandbox, SandboxNotFoundError,
  e2bControlEnvs, quoteE2BShellArg, type CommandHandle, type CommandResult, type Config, type EntryInfo, type OwnerError,
} from 'dsh-subprocess-native/e2b'
import * as companion from 'dsh-subprocess-native/e2b/invariant'
import { E2BSandboxService as Original } from '@deepseek-ai/dsh-e2b'
import { Context } from '@deepseek-ai/cordis'

const ctx = new Context()
const config: Config = { apiKey: 'k', cwd: '/w', timeoutMs: 1, template: 't', envs: { A: 'b' }, metadata: {}, domain: 'd', keepAlive: true, sdk: 'e2b' }
const joining: Config = { sandboxId: 'i' }
// An instance is taken for the seam package's own, whose members are protected and private.
const original: Original = new Owner(ctx, config)
class Mine extends E2BRuntime {}
const mine: E2BRuntime = new Mine(ctx)
const sandbox: Promise<Sandbox> = mine.getSandbox()
const older: typeof E2BRuntime = E2BSandboxService
const filled: Config = Owner.Config({})
await ctx.plugin(Owner, config)
const typed: Promise<Sandbox> = ctx.e2b.getSandbox()
const word: string = quoteE2BShellArg('x')
const envs: Record<string, string> = e2bControlEnvs({ A: 'b' })
const apply: (ctx: unknown) => Promise<() => void> = companion.apply
const kind: FileType = FileType.DIR
const classes: Function[] = [CommandExitError, FileNotFoundError, SandboxNotFoundError]
export type Used = [CommandHandle, CommandResult, EntryInfo, OwnerError['retryAfterMs']]
export { apply, classes, envs, filled, joining, kind, older, original, sandbox, typed, word }

// @ts-expect-error: no such key
export const unknown: Config = { apikey: 'k' }
// @ts-expect-error: a number
export const wrong: Config = { timeoutMs: '1' }
// @ts-expect-error: read only
mine.cwd = '/other'
