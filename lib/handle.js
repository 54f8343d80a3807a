/**
 * One command, as consumers of the seam see it.
 * @module dsh-subprocess-native/lib/handle
 */
import { onAbort } from './abort.js'
import { OutputReader } from './collected.js'
import { toError } from './errors.js'
import { InheritedOutput } from './inherit.js'
import { OUTCOME, STDERR, STDIN, STDOUT, TREE, apart, forget, listen, waker } from './native.js'
import { BatchInput, InputStream, OutputStream, STALLED_MS } from './streams.js'

const CHANNELS = ['stdout', 'stderr']

/**
 * What the addon does with an output.
 * @param {'pipe' | 'inherit' | { maxBytes: number, spill?: { maxBytes: number } }} mode
 */
export function outputSpec(mode) {
  if (mode === 'pipe') return { mode: 'raw', maxBytes: 0, spillBytes: null }
  if (mode === 'inherit') return { mode: 'drained', maxBytes: 0, spillBytes: null }
  return { mode: 'tail', maxBytes: mode.maxBytes, spillBytes: mode.spill?.maxBytes ?? null }
}

/** A live command. */
export class Handle {
  /**
   * @param {object} native a NativeHandle that is not started yet
   * @param {{ argv: string[], graceMs: number, signal?: AbortSignal }} spec
   * @param {object} stdio of it, checked: nothing may throw here, since the program may run already
   * @param {() => void} onOver called, maybe again, when its outcome and the end of its tree are known
   */
  constructor(native, spec, stdio, onOver) {
    this.native = native
    // No more of it than is needed later: an inspected handle must not show what environment and input it was given.
    this.spec = { argv: spec.argv, graceMs: spec.graceMs }
    this.onOver = onOver
    this.settled = false
    this.isTelling = false
    this.terminating = false
    /** Why the owner gave no sandbox. */
    this.refusal = undefined
    this.waiters = new Set()
    this.done = new Promise((resolve, reject) => Object.assign(this, { resolveDone: resolve, rejectDone: reject }))
    // Whoever does not look at the outcome must not end the harness by that.
    this.done.catch(() => {})
    // As the original's, they are taken out of their handle now and then.
    this.terminate = this.terminate.bind(this)
    this.waitForExit = this.waitForExit.bind(this)
    this.openStreams(stdio)
    this.ignoreSignal = onAbort(spec.signal, () => this.terminate())
    listen(native.id, changed => this.onChange(changed))
  }

  openStreams(stdio) {
    const { native } = this
    const { stdin } = stdio
    this.stdin = stdin === 'pipe' ? new InputStream(native) : undefined
    this.input = this.stdin ?? (typeof stdin === 'object' ? new BatchInput(native, stdin.data) : undefined)
    this.outputs = []
    this.inherited = []
    this.collected = {}
    CHANNELS.forEach((name, channel) => {
      const mode = stdio[name]
      this[name] = mode === 'pipe' ? new OutputStream(native, channel) : undefined
      if (mode === 'inherit') {
        this.openInherited(channel, name)
      } else if (mode === 'pipe') {
        this.outputs[channel] = this[name]
        // It is destroyed with the error of a lost sandbox; whoever does not listen must not end the harness by that.
        this[name].on('error', () => {})
      } else {
        this.collected[name] = new OutputReader(native, channel)
      }
    })
  }

  /** The harness' own stream takes the output. */
  openInherited(channel, name) {
    this.outputs[channel] = new InheritedOutput(this.native, channel, process[name])
    this.inherited.push(this.outputs[channel])
  }

  /** Process id (its session's and group's too); -1 while there is none. */
  get pid() {
    return this.native.pid
  }

  /** Ends the whole tree: SIGTERM, after the grace SIGKILL. */
  terminate() {
    this.terminating = true
    this.native.terminate()
    this.hurryInherited()
    // After a failed end it is waited for again.
    waker.hold()
  }

  /**
   * Waits until the whole tree is gone.
   * @param {AbortSignal} [signal] gives up waiting
   * @returns {Promise<boolean>} false when the signal came first
   */
  waitForExit(signal) {
    return new Promise((resolve, reject) => {
      let ignoreSignal = () => {}
      const end = () => {
        this.waiters.delete(look)
        ignoreSignal()
      }
      const look = () => {
        const tree = this.native.tree()
        if (tree === null) return false
        end()
        if (tree.gone) resolve(true)
        else reject(toError(tree.error))
        return true
      }
      if (look()) return
      if (signal?.aborted) return resolve(false)
      this.waiters.add(look)
      ignoreSignal = onAbort(signal, () => {
        end()
        resolve(false)
      })
    })
  }

  /**
   * There is no sandbox to start it in.
   * @param {unknown} error becomes the rejection of `done`, as it is, unless the program has run
   */
  fail(error) {
    // Called off meanwhile, or its caller was held and it has ended where it was expected to start: then that is its outcome.
    if (this.native.outcome() !== null) return
    this.refusal = { error }
    this.native.abandon()
    // On its way there already, it is taken back. If it runs, it is ended, and how is its outcome.
    if (this.native.outcome() === null) this.terminate()
    else this.onOutcome()
  }

  onChange(changed) {
    // What is over now is looked at in full, whichever change announced it: later ones have nobody who hears them.
    const over = this.isOver()
    const last = over && [0, 1].every(channel => this.native.hasEnded(channel))
    if (over) apart(() => this.input?.close())
    else if (changed & STDIN) apart(() => this.input?.pump())
    if (over || changed & STDOUT) apart(() => this.outputs[0]?.pump())
    if (over || changed & STDERR) apart(() => this.outputs[1]?.pump())
    if (over || changed & OUTCOME) this.onOutcome()
    if (over || changed & TREE) this.onTree()
    if (over) this.onOver()
    if (last) forget(this.native.id)
  }

  onTree() {
    for (const look of [...this.waiters]) look()
    if (this.native.tree()?.gone) this.hurryInherited()
  }

  /** Whoever reads the harness' own streams may have stalled, and must not hold up what is over. */
  hurryInherited() {
    for (const output of this.inherited) output.hurry(this.terminating ? STALLED_MS : this.spec.graceMs)
  }

  onOutcome() {
    const outcome = this.native.outcome()
    if (outcome === null || this.settled || this.isTelling) return
    const { exitCode, signal, error } = outcome
    if (this.refusal !== undefined && !this.native.isStarted) return this.settle(() => this.rejectDone(this.refusal.error))
    if (error !== null) return this.settle(() => this.rejectDone(toError(error)))
    this.isTelling = true
    this.afterOutputs(() => this.settle(() => this.resolveDone({ exitCode, signal })))
  }

  /**
   * What the program said is told before its end is: it stands on the harness' own streams, and whoever reads a pipe has had all of it.
   * A reader that has stalled is waited for as long as a holder of the pipe would be.
   */
  afterOutputs(tell) {
    this.hurryInherited()
    const read = this.outputs.filter(output => output instanceof OutputStream && output.isRead())
    if (read.length === 0 && this.inherited.length === 0) return tell()
    let timer
    const stalled = new Promise(resolve => { timer = setTimeout(resolve, this.spec.graceMs) })
    const ends = read.map(output => output.closed())
    void Promise.all([...this.inherited.map(output => output.flushed), Promise.race([Promise.all(ends), stalled])]).then(() => {
      clearTimeout(timer)
      tell()
    })
  }

  settle(tell) {
    if (this.settled) return
    this.settled = true
    this.ignoreSignal()
    tell()
  }

  /** For the end of the service: ends the tree and waits until it is gone and the outcome is known. */
  async end() {
    this.terminate()
    await this.waitForExit()
    await this.done.catch(() => {})
  }

  /** Whether nothing is left of it. */
  isOver() {
    return this.native.outcome() !== null && this.native.tree()?.gone === true
  }
}
