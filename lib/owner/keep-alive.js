/**
 * Prolongs a sandbox' life while it is used.
 * @module dsh-subprocess-native/lib/owner/keep-alive
 */

const MAX_TIMER_MS = 2 ** 31 - 1

/** Prolongs when half of the life is over and commands run, or somebody asks for the sandbox. */
export class KeepAlive {
  /**
   * @param {number} lifeMs the whole life, from now
   * @param {() => boolean} isBusy
   * @param {() => Promise<void>} extend lets it live for its whole life from now; a failure is tried again at the next look
   */
  constructor(lifeMs, isBusy, extend) {
    this.lifeMs = lifeMs
    this.isBusy = isBusy
    this.extend = extend
    this.since = performance.now()
    this.extending = false
    // A quarter: a command that began just after one look is seen by the next while the life still lasts.
    this.timer = setInterval(() => { if (this.isBusy()) this.touch() }, Math.min(lifeMs / 4, MAX_TIMER_MS))
    this.timer.unref()
  }

  /** The sandbox is used. */
  touch() {
    if (this.extending || performance.now() - this.since < this.lifeMs / 2) return
    const now = performance.now()
    this.extending = true
    this.extend().then(() => { this.since = now }, () => {}).finally(() => { this.extending = false })
  }

  stop() {
    clearInterval(this.timer)
  }
}
