/**
 * Something that is being set up and can be called off until it is there.
 * @module dsh-subprocess-native/lib/setup
 */

/** One setup. `abort` calls it off, `ended` resolves when it is over either way. */
export class Setup {
  /**
   * @param {Set<Setup>} all where it is listed while it lasts
   * @param {AbortSignal} [signal] calls it off as well, with its reason
   */
  constructor(all, signal) {
    this.all = all
    this.signal = signal
    this.ended = new Promise(resolve => { this.resolveEnded = resolve })
    this.called = new Promise((_, reject) => { this.abort = reject })
    this.called.catch(() => {})
    this.onAbort = () => this.abort(signal.reason)
    signal?.addEventListener('abort', this.onAbort, { once: true })
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
    this.signal?.removeEventListener('abort', this.onAbort)
    this.all.delete(this)
    this.resolveEnded()
  }
}
