/**
 * The subprocess seam in an E2B sandbox: a Cordis class plugin that provides `ctx.subprocess` and needs `ctx.e2b`.
 *
 * `ctx.subprocess` itself is typed by the seam package of your harness; what is here stands alone.
 * @module dsh-subprocess-native
 */
import type { Subprocess } from './seam.js'

export type * from './seam.js'

/** Configuration of the provider. The first key is the original's; every key has a default. */
export interface Config {
  /** Kept for compositions of the original, and checked (a positive safe integer): nothing is polled here. Default 20. */
  pollMs?: number
  /**
   * How many milliseconds `spawn` may hold its caller when no process id is known, so that `pid` is positive when it returns; only once the
   * owner's sandbox is there. Default 0.
   */
  startupWaitMs?: number
  /** Variables of the sandbox whose names begin so, in any case, do not reach commands. Default `['DSH_', 'TOH_']`. */
  envPrefixes?: string[]
  /** Read `/etc/profile` of the sandbox once, for the environment of all commands. Default false. */
  loginEnvironment?: boolean
  /** Absolute path of a supervisor that the sandbox' image brings; nothing is uploaded then. */
  supervisorPath?: string
  /**
   * Milliseconds without the harness after which everything that runs in the sandbox is ended, while commands run; with none running it is
   * ten minutes at most. 0 is never. Default 24 hours.
   */
  orphanTimeoutMs?: number
  /** Milliseconds that an unreachable sandbox is waited for before its commands are given up. Default 60000. */
  lostAfterMs?: number
  /** A connection that brings nothing for so many milliseconds is given up for a new one; pinged three times as often. Default 15000. */
  silenceMs?: number
  /**
   * A secret of 32 characters or more that this harness keeps. A later process with the same one, under an owner that gives the same sandbox,
   * finds the commands that this one leaves running when it dies, or detaches. One process at a time.
   */
  session?: string
}

/** A command that an earlier process of the same harness left running. */
export interface RunningCommand {
  /** For `attachTo`. */
  id: number
  /** Its process id, its session's and group's too. */
  pid: number
  /** Program and arguments. */
  argv: string[]
}

/** What happens to the outputs of a command that is found again. */
export interface AttachOptions {
  /** Must be a pipe exactly where the earlier process had a pipe. Default: collected, the last MiB. */
  stdout?: 'pipe' | { maxBytes: number }
  /** Likewise. */
  stderr?: 'pipe' | { maxBytes: number }
  /** Milliseconds from SIGTERM to SIGKILL's outcome that a raw pipe is waited for. Default 5000. */
  graceMs?: number
}

/** What the provider does. */
export interface E2BSubprocessRuntime extends Subprocess {
  /** Commands that an earlier process left running. Rejects without the configuration key `session`. */
  listRunning(): Promise<RunningCommand[]>
  /** Goes on with one of them; its outputs continue after the last byte that the earlier process had acknowledged, its input does not. */
  attachTo(id: number, options?: AttachOptions): Promise<ReturnType<Subprocess['spawn']>>
  /** Lets go without ending anything: for a later process with the same `session`. The service is over by that. */
  detach(): void
}

/** The plugin class. Its instances are whatever your Cordis says a service is, hence `any`. */
export declare const E2BSubprocessRuntime: {
  /** Throws for a configuration that can't be meant, and when the context has a subprocess service already. */
  new (ctx: any, config?: Config): any
  /** Services it needs. */
  readonly inject: string[]
  /** A schemastery schema: fills defaults, renders forms. */
  readonly Config: ((config?: unknown) => Required<Omit<Config, 'supervisorPath'>> & Pick<Config, 'supervisorPath'>) & {
    readonly '~standard': any
  }
}

/** The same class under the name of the older generation. */
export declare const E2BSubprocessService: typeof E2BSubprocessRuntime
/** The same, as a type. */
export interface E2BSubprocessService extends Subprocess {}

export default E2BSubprocessRuntime
