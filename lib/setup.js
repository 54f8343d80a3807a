/**
 * Something that is being set up and can be called off until it is there.
 * @module dsh-subprocess-native/lib/setup
 */
import { onAbort } from './abort.js'

/** One setup. `abort` calls it off, `ended` resolves when it is over either way. */
export class Setup {
  /**
   * @param {Set<Setup>} all where it is listed while it lasts
   * @param {{ argv: string[], graceMs: number, signal?: AbortSignal }} spec of what is set up; its signal calls it off as well, with its reason
   */
  constructor(all, { argv, graceMs, signal }) {
    this.all = all
    this.spec = { argv, graceMs }
    this.ended = new Promise(resolve => { this.resolveEnded = resolve })
    this.called = new Promise((_, reject) => { this.abort = reject })
    this.called.catch(() => {})
    this.stopListening = onAbort(signal, () => this.abort(signal.reason))
    all.add(this)
  }

  /**
   * Waits for a step of it.
   * @template T
   * @param {Promise<T>} step
   * @returns {Promise<T>} rejects when the setup is called off first
   */
  unlessAborted(step) {
    return Promise.race([step, this.called])
  }

  /** It is over. */
  end() {
    this.stopListening()
    this.all.delete(this)
    this.resolveEnded()
  }
}
