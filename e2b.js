/**
 * The owner of an E2B sandbox: a Cordis class plugin that provides `ctx.e2b`, and what adapters take from its module.
 * @module dsh-subprocess-native/e2b
 */
export { CommandExitError, FileNotFoundError, FileType, Sandbox, SandboxNotFoundError } from 'e2b'
export { E2BRuntime, E2BRuntime as E2BSandboxService, default } from './lib/owner/owner.js'
export { e2bControlEnvs, quoteE2BShellArg } from './lib/owner/shell.js'
