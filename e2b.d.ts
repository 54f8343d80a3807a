/**
 * The owner of an E2B sandbox: a Cordis class plugin that provides `ctx.e2b`.
 *
 * `ctx.e2b` itself is typed by the seam package of your harness; what is here stands alone.
 * @module dsh-subprocess-native/e2b
 */
import type { Sandbox } from 'e2b'

export { CommandExitError, FileNotFoundError, FileType, Sandbox, SandboxNotFoundError } from 'e2b'
export type { CommandHandle, CommandResult, EntryInfo } from 'e2b'

/** Configuration of the owner. The first three keys are the original's; the others are off unless used. */
export interface Config {
  /** API key; `E2B_API_KEY` when omitted, and one of both must not be empty. It never enters the sandbox. */
  apiKey?: string
  /** Directory in the sandbox that all adapters share, absolute; made when missing. Default `/home/user/workspace`. */
  cwd?: string
  /** Life of the sandbox in milliseconds, finite and positive, rounded up to seconds on the wire; then it is deleted. Default 300000. */
  timeoutMs?: number
  /** Template of the sandbox. Default `base`. */
  template?: string
  /** Variables of every process in the sandbox. Programs can read them: no place for secrets. */
  envs?: Record<string, string>
  /** Labels of the sandbox at the control plane. */
  metadata?: Record<string, string>
  /** Domain of the service; `E2B_DOMAIN` when omitted. `E2B_API_URL` and `E2B_SANDBOX_URL` win over it. */
  domain?: string
  /** Give the sandbox its whole life again, while half of it is over, whenever it is asked for and while commands of this package's provider run. Default false. */
  keepAlive?: boolean
  /** Use this sandbox, which exists (a paused one is woken), and never end it; its life is made `timeoutMs` long if it would be shorter. Excludes `template`, `envs`, `metadata`. */
  sandboxId?: string
  /**
   * Module whose `Sandbox` (and error classes, where it has them) is used for `getSandbox()`: a name as this package sees it,
   * an absolute path or a URL. Default: the pinned SDK, whose classes are exported here.
   */
  sdk?: string
}

/** What adapters use. */
export interface E2BRuntime {
  /** The shared directory. */
  readonly cwd: string
  /** Directory below it for what adapters keep in the sandbox: a real directory, mode 0700. */
  readonly runtimeRoot: string
  /**
   * The sandbox, ready, the same object for everybody.
   * @throws the failure of its setup: an error of the SDK's classes with `code` (`ERR_E2B_…`) and, where known, `status`,
   * `errorCode` and `retryAfterMs`; or `E2B sandbox service is disposing`
   */
  getSandbox(): Promise<Sandbox>
}

/** `code` of a failure of the owner; causes and advice are in `docs/errors.md`. */
export type OwnerErrorCode =
  | 'ERR_E2B_ANSWER_LOST' | 'ERR_E2B_DIRECTORIES' | 'ERR_E2B_DISPOSING' | 'ERR_E2B_FORBIDDEN' | 'ERR_E2B_NOT_FOUND'
  | 'ERR_E2B_PLACEMENT' | 'ERR_E2B_PROTOCOL' | 'ERR_E2B_RATE_LIMITED' | 'ERR_E2B_REFUSED' | 'ERR_E2B_RUNTIME_ROOT'
  | 'ERR_E2B_SERVER' | 'ERR_E2B_SETUP' | 'ERR_E2B_TEMPLATE' | 'ERR_E2B_UNAUTHORIZED' | 'ERR_E2B_UNREACHABLE'

/** A failure of the owner. */
export interface OwnerError extends Error {
  /** Which one. */
  code: OwnerErrorCode
  /** HTTP status of the control plane's answer. */
  status?: number
  /** The control plane's own `error_code`. */
  errorCode?: string
  /** How long it asks to wait, in milliseconds. */
  retryAfterMs?: number
}

/** The plugin class. Its instances are whatever your Cordis says a service is, hence `any`. */
export declare const E2BRuntime: {
  /** Throws when the configuration makes no sense; starts to create the sandbox otherwise. */
  new (ctx: any, config?: Config): any
  /** Schema of the configuration (schemastery). */
  Config: { (config?: Config | null): Config; readonly '~standard': any; [key: string]: any }
}
/** The same class under the name of the older generation. */
export declare const E2BSandboxService: typeof E2BRuntime
export type E2BSandboxService = E2BRuntime
export default E2BRuntime

/** Quotes one argument for a POSIX shell. */
export declare function quoteE2BShellArg(value: string): string
/** Variables for an internal command of an adapter: a new object each time, whose `HOME` does not exist and can't be overridden. */
export declare function e2bControlEnvs(overrides?: Readonly<Record<string, string>>): Record<string, string>
