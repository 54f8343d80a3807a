/**
 * The subprocess seam in types of its own: what `spawn` and `spawnTerminal` take and give. Structural: a spec or a handle of your
 * harness' seam package is one of these, and the other way round.
 * @module dsh-subprocess-native/seam
 */
import type { Readable, Writable } from 'node:stream'

/** Standard input: `/dev/null`, a stream to write to, or bytes (as UTF-8) and then the end. */
export type StdinMode = 'ignore' | 'pipe' | { readonly data: string }

/** A bounded tail of an output in memory, and if wanted a file with all of it. */
export interface Collect {
  /** Bytes of the tail. */
  maxBytes: number
  /** A file that takes the whole output, as long as that is no longer than this many bytes. */
  spill?: { maxBytes: number }
}

/** An output: a stream of raw bytes, the harness' own stream, or a tail. */
export type OutputMode = 'pipe' | 'inherit' | Collect

/** A command. Nothing has a default. */
export interface SpawnSpec {
  /** Program and arguments; never interpreted by a shell. */
  argv: readonly string[]
  /** Working directory. */
  cwd: string
  /** Its three descriptors. */
  stdio: { stdin: StdinMode, stdout: OutputMode, stderr: OutputMode }
  /** Milliseconds between SIGTERM and SIGKILL, and how long a holder of an output can delay the outcome. Positive, at most 2147483647. */
  graceMs: number
  /** Terminates the command. */
  signal?: AbortSignal | undefined
  /** Set over the scrubbed environment of the execution world; `undefined` removes. */
  env?: Readonly<Record<string, string | undefined>> | undefined
}

/** How a command ended, in the words of Node's `close` event. */
export interface Outcome {
  /** Exit code; null after a signal. */
  exitCode: number | null
  /** The signal; null after an exit. */
  signal: NodeJS.Signals | null
}

/** One read of a collected output. */
export interface OutputRead {
  /** What follows the asked offset, or the whole tail when that offset has left it. */
  text: string
  /** Offset in the whole stream to go on from. */
  nextOffset: number
  /** Whether bytes before `text` are missing. */
  lossy: boolean
  /** In the execution world: a file with all bytes, when some are missing here. */
  spillPath?: string
}

/** Reads a collected output; consumes nothing, works before and after the end. */
export interface OutputReader {
  readFrom(fromByte: number): OutputRead
}

/** A live command. */
export interface Handle {
  /** Process id; its session's and group's too. -1 while there is none and after a failed start. */
  readonly pid: number
  /** There when `stdin` was `'pipe'`. */
  readonly stdin: Writable | undefined
  /** There when `stdout` was `'pipe'`. */
  readonly stdout: Readable | undefined
  /** There when `stderr` was `'pipe'`. */
  readonly stderr: Readable | undefined
  /** Readers of the outputs that are collected. */
  readonly collected: { readonly stdout?: OutputReader, readonly stderr?: OutputReader }
  /** The outcome. Rejects only when the command could not be started or its end can't be known. */
  readonly done: Promise<Outcome>
  /** Ends the whole tree: SIGTERM, after the grace SIGKILL. May be called at any time and again. */
  terminate(): void
  /** True when no process of the tree is left, false when `signal` fires first; rejects when the tree could not be ended. */
  waitForExit(signal?: AbortSignal): Promise<boolean>
}

/** A terminal. */
export interface TerminalSpec {
  /** Program and arguments. */
  argv: readonly string[]
  /** Working directory. */
  cwd: string
  /** Set over the scrubbed environment. */
  env?: Readonly<Record<string, string | undefined>> | undefined
  /** Its rows, from 1 to 65535. */
  rows: number
  /** Its columns, from 1 to 65535. */
  cols: number
  /** Milliseconds between SIGTERM and SIGKILL. */
  graceMs: number
  /** Calls its opening off. */
  signal?: AbortSignal | undefined
}

/** Signals that a terminal's foreground group can be sent. */
export type TerminalSignal = 'SIGINT' | 'SIGTERM' | 'SIGKILL' | 'SIGTSTP' | 'SIGHUP'

/** A live terminal. */
export interface TerminalHandle {
  /** Process id of the program. */
  readonly pid: number
  /** What the terminal shows, as raw bytes. */
  readonly output: Readable
  /** The program's outcome. */
  readonly done: Promise<Outcome>
  /** Types text as UTF-8, without newline conversion. */
  write(data: string): Promise<void>
  /** The group in front, and whether it waits for input at this terminal. */
  inspectForeground(): Promise<{ processGroupId: number, inputWaiting: boolean } | undefined>
  /** Signals the group in front and gives its id. */
  signalForeground(signal: TerminalSignal): Promise<number>
  /** Ends every process of the terminal; resolves when none is left. */
  terminate(): Promise<void>
  /** Gives the terminal another size; each from 1 to 65535. */
  resize(rows: number, cols: number): void
}

/** What a provider of the seam does. */
export interface Subprocess {
  /** Finds an executable: an absolute path, or a bare name along `env.PATH` or the ambient path. */
  resolveExecutable(command: string, env?: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<string>
  /** Starts a command and returns at once. */
  spawn(spec: SpawnSpec): Handle
  /** Opens a terminal. */
  spawnTerminal(spec: TerminalSpec): Promise<TerminalHandle>
}

/** `code` of an error of this package's providers; causes and advice are in `docs/errors.md`. */
export type SubprocessErrorCode =
  | 'ERR_ACCESS_DENIED' | 'ERR_INVALID_ARG_TYPE' | 'ERR_INVALID_ARG_VALUE'
  | 'ERR_SANDBOX_GONE' | 'ERR_SANDBOX_UNREACHABLE'
  | 'ERR_SUBPROCESS_CLOSED' | 'ERR_SUBPROCESS_SURVIVED' | 'ERR_SUBPROCESS_UNKNOWN'
  | 'ERR_SUPERVISOR_KILLED' | 'ERR_SUPERVISOR_REFUSED' | 'ERR_SUPERVISOR_START'
  | 'ERR_TERMINAL_SHELL'

/** `code` of what the system refused: a start, a write to `stdin`, a signal. */
export type SystemErrorCode =
  | 'E2BIG' | 'EACCES' | 'EAGAIN' | 'EBADF' | 'EBUSY' | 'ECHILD' | 'EDQUOT' | 'EEXIST' | 'EFAULT' | 'EFBIG' | 'EINTR' | 'EINVAL'
  | 'EIO' | 'EISDIR' | 'ELIBACC' | 'ELIBBAD' | 'ELIBEXEC' | 'ELOOP' | 'EMFILE' | 'ENAMETOOLONG' | 'ENFILE' | 'ENODEV' | 'ENOENT'
  | 'ENOEXEC' | 'ENOMEM' | 'ENOSPC' | 'ENOSYS' | 'ENOTDIR' | 'ENOTTY' | 'ENXIO' | 'EPERM' | 'EPIPE' | 'EROFS' | 'ESRCH'
  | 'ETIMEDOUT' | 'ETXTBSY' | `errno ${number}`

/** An error of this package's providers that has a code. */
export interface SubprocessError extends Error {
  code: SubprocessErrorCode | SystemErrorCode
  /** The negated Linux error number, with a {@link SystemErrorCode}. */
  errno?: number
  /** `spawn PROGRAM`, `write` or `kill`, with a {@link SystemErrorCode}. */
  syscall?: string
  /** The program as it was given, of a start; the name that was looked for. */
  path?: string
}
