/**
 * One terminal, as consumers of the seam see it.
 * @module dsh-subprocess-native/lib/terminal
 */
import { toError } from './errors.js'
import { OUTCOME, STDIN, STDOUT, TREE, announced, apart, forget, listen, waker } from './native.js'
import { Setup } from './setup.js'
import { STALLED_MS, TerminalOutput } from './streams.js'
import { requireSize, sizeOf, variables } from './validate.js'

const SIGNALS = new Set(['SIGINT', 'SIGTERM', 'SIGKILL', 'SIGTSTP', 'SIGHUP'])

/**
 * Opens a terminal; what was begun is taken back when that fails.
 * @param {object} service the provider
 * @param {object} spec
 * @param {() => Promise<string>} target gives the sandbox to open it in
 * @returns {Promise<TerminalHandle>}
 */
export async function openTerminal(service, spec, target) {
  // What is refused was never begun.
  const size = sizeOf(spec)
  const native = service.native.spawnTerminal({
    argv: [...spec.argv],
    cwd: spec.cwd,
    env: variables(spec.env),
    graceMs: spec.graceMs,
    ...size,
  })
  const terminal = new TerminalHandle(native, { ...spec, ...size }, () => service.terminals.delete(terminal))
  const setup = new Setup(service.setups, spec)
  try {
    service.native.start(native, await setup.unlessAborted(target()))
    await setup.unlessAborted(terminal.started)
    // A program that was over at once has told so already: nobody would take it out again.
    if (!terminal.isOver()) service.terminals.add(terminal)
    return terminal
  } catch (error) {
    terminal.output.destroy()
    await terminal.terminate()
    throw error
  } finally {
    setup.end()
  }
}

/** A live terminal. */
export class TerminalHandle {
  /**
   * @param {object} native a NativeHandle that is not started yet
   * @param {object} spec
   * @param {() => void} onOver called when its outcome and the end of its tree are known
   * @param {string} [provider] who speaks in its errors
   */
  constructor(native, spec, onOver, provider = 'subprocess-e2b') {
    this.native = native
    // An inspected terminal must not show what environment it was given.
    this.spec = { argv: spec.argv, graceMs: spec.graceMs }
    this.size = { rows: spec.rows, cols: spec.cols }
    this.onOver = onOver
    this.provider = provider
    this.output = new TerminalOutput(native, 0)
    // It is destroyed with the error of a lost transport; whoever does not listen must not end the harness by that.
    this.output.on('error', () => {})
    this.operations = new Set()
    // Nor what is typed, which may be a password.
    Object.defineProperty(this, 'writes', { value: [] })
    this.waiters = new Set()
    this.cleanup = undefined
    this.terminating = false
    this.isTelling = false
    this.hurry = undefined
    this.done = new Promise((resolve, reject) => Object.assign(this, { resolveDone: resolve, rejectDone: reject }))
    this.started = new Promise((resolve, reject) => Object.assign(this, { resolveStarted: resolve, rejectStarted: reject }))
    this.done.catch(() => {})
    this.started.catch(() => {})
    listen(native.id, changed => this.onChange(changed))
  }

  /** Process id of the program: its session's too. */
  get pid() {
    return this.native.pid
  }

  /**
   * Types text, without newline conversion.
   * @param {string} data
   * @returns {Promise<void>} when all of it is on its way
   */
  async write(data) {
    this.requireOpen()
    if (this.native.outcome() !== null) throw new Error('terminal process has exited')
    await this.operation(new Promise((resolve, reject) => {
      this.writes.push({ rest: Buffer.from(data, 'utf8'), taken: 0, resolve, reject })
      if (this.writes.length === 1) this.pumpWrites()
    }))
  }

  /**
   * Looks which group is in front. What it had written by then has come when the answer comes.
   * @returns {Promise<{ processGroupId: number, inputWaiting: boolean } | undefined>}
   */
  async inspectForeground() {
    this.requireOpen()
    if (this.native.outcome() !== null) return undefined
    const { error, foreground } = await this.operation(announced(this.native.inspectForeground()))
    if (error?.code === 'ERR_TERMINAL_FOREGROUND') return undefined
    if (error !== null) throw toError(error)
    return foreground ?? undefined
  }

  /**
   * Signals the group in front.
   * @param {'SIGINT' | 'SIGTERM' | 'SIGKILL' | 'SIGTSTP' | 'SIGHUP'} signal
   * @returns {Promise<number>} the group
   */
  async signalForeground(signal) {
    this.requireOpen()
    if (!SIGNALS.has(signal)) throw new TypeError(`${this.provider}: a terminal takes no signal ${String(signal)}`)
    const { pid } = this
    const nobody = () => new Error(`${this.provider}: cannot resolve foreground process group for terminal ${pid}`)
    if (this.native.outcome() !== null) throw nobody()
    const { error, group } = await this.operation(announced(this.native.signalForeground(signal)))
    if (error?.code === 'ERR_TERMINAL_FOREGROUND') throw nobody()
    if (error !== null) throw toError(error)
    return group
  }

  /**
   * Gives the terminal another size.
   * @param {number} rows
   * @param {number} cols
   */
  resize(rows, cols) {
    requireSize({ rows, cols }, this.provider)
    // Some programs redraw at every SIGWINCH; and nothing is sent that says nothing.
    if (rows === this.size.rows && cols === this.size.cols) return
    this.size = { rows, cols }
    this.native.resize(rows, cols)
  }

  /**
   * Ends every process of the terminal and waits for it. After a failure it can be tried again.
   * @returns {Promise<void>}
   */
  terminate() {
    this.terminating = true
    this.hurry?.(STALLED_MS)
    this.dropWrites()
    for (const abort of [...this.operations]) abort()
    this.cleanup ??= this.untilGone().catch(error => {
      this.cleanup = undefined
      throw error
    })
    return this.cleanup
  }

  /** For the end of the service: ends the tree and waits until it is gone and the outcome is known. */
  async end() {
    await this.terminate()
    await this.done.catch(() => {})
  }

  /** Ends the tree and waits for it. */
  untilGone() {
    this.native.terminate()
    waker.hold()
    return new Promise((resolve, reject) => {
      const look = () => {
        const tree = this.native.tree()
        if (tree === null) return
        this.waiters.delete(look)
        if (tree.gone) resolve()
        else reject(toError(tree.error))
      }
      this.waiters.add(look)
      look()
    })
  }

  /** Whether nothing is left of it. */
  isOver() {
    return this.native.outcome() !== null && this.native.tree()?.gone === true
  }

  /**
   * What the program showed is told before its end is, to whoever reads it. He may have got the terminal just now: a program that was over
   * at once told its end before anybody could listen. A reader that has stalled is waited for as long as a command's, but not by `terminate`.
   */
  afterOutput(tell) {
    setImmediate(() => {
      if (!this.output.isRead()) return tell()
      let timer
      const end = () => {
        clearTimeout(timer)
        this.hurry = undefined
        tell()
      }
      this.hurry = ms => {
        clearTimeout(timer)
        timer = setTimeout(end, ms)
      }
      this.hurry(this.terminating ? STALLED_MS : this.spec.graceMs)
      void this.output.closed().then(end)
    })
  }

  requireOpen() {
    if (this.terminating) throw new Error(`${this.provider}: terminal is terminating`)
  }

  /** An operation that `terminate` calls off. */
  async operation(promise) {
    let abort
    const aborted = new Promise((_, reject) => {
      abort = () => reject(new Error(`${this.provider}: terminal is terminating`))
    })
    this.operations.add(abort)
    try {
      return await Promise.race([promise, aborted])
    } finally {
      this.operations.delete(abort)
    }
  }

  /** What is called off is not typed any more, as far as it waits here. Only the first write has begun. */
  dropWrites() {
    const [begun] = this.writes.splice(0)
    if (begun !== undefined) this.native.takeBack(begun.taken)
  }

  pumpWrites() {
    while (this.writes.length > 0) {
      const [write] = this.writes
      if (this.native.isInputClosed()) {
        for (const { reject } of this.writes.splice(0)) reject(new Error('terminal process has exited'))
        return
      }
      const taken = this.native.write(write.rest)
      write.rest = write.rest.subarray(taken)
      write.taken += taken
      if (write.rest.length > 0) {
        if (taken === 0) return
        continue
      }
      this.writes.shift()
      write.resolve()
    }
  }

  onChange(changed) {
    // What is over now is looked at in full, whichever change announced it: later ones have nobody who hears them.
    const over = this.isOver()
    const last = over && this.native.hasEnded(0)
    if (this.native.isStarted) this.resolveStarted()
    if (over || changed & STDOUT) apart(() => this.output.pump())
    if (over || changed & OUTCOME) this.onOutcome()
    if (over || changed & STDIN) this.pumpWrites()
    if (over || changed & TREE) for (const look of [...this.waiters]) look()
    if (over) this.onOver()
    if (last) forget(this.native.id)
  }

  onOutcome() {
    const outcome = this.native.outcome()
    if (outcome === null) return
    const { exitCode, signal, error } = outcome
    if (error === null) {
      if (!this.isTelling) this.afterOutput(() => this.resolveDone({ exitCode, signal }))
      this.isTelling = true
      // A terminal does not outlive its program: what that left in the background has nobody who would end it.
      if (this.native.tree()?.gone !== true) this.native.terminate()
      // If it is not known to have begun: nothing could be done with it, so nobody gets it.
      const lost = this.terminating ? null : this.native.lost()
      this.rejectStarted(lost === null ? new Error(`${this.provider}: terminal was terminated before it started`) : toError(lost))
    } else {
      const failure = toError(error)
      this.rejectDone(failure)
      this.rejectStarted(failure)
      this.output.destroy(failure)
    }
    for (const { reject } of this.writes.splice(0)) reject(new Error('terminal process has exited'))
  }
}
