/**
 * A command's output on the harness' own.
 * @module dsh-subprocess-native/lib/inherit
 */

const CHUNK = 256 * 1024

/**
 * Writes an output to `target` as fast as that takes it. `flushed` resolves when all of it was written, or can't be: `target` is gone, or,
 * once there is a hurry, takes nothing for too long.
 */
export class InheritedOutput {
  constructor(native, channel, target) {
    this.native = native
    this.channel = channel
    this.target = target
    this.blocked = false
    this.patienceMs = Infinity
    this.timer = undefined
    this.giveUp = () => {}
    this.flushed = new Promise(resolve => { this.finish = resolve })
  }

  pump() {
    while (!this.blocked) {
      const chunk = this.native.take(this.channel, CHUNK)
      if (chunk === null) {
        if (this.native.isOver(this.channel)) this.finish()
        return
      }
      if (this.target.destroyed) return this.give()
      if (!this.target.write(chunk)) this.wait()
    }
  }

  /** Waits for room; listeners are there only meanwhile, so that errors of the stream stay the harness' own. */
  wait() {
    const { target } = this
    this.blocked = true
    const on = { drain: () => go(() => this.pump()), close: () => go(() => this.give()), error: () => go(() => this.give()) }
    const go = next => {
      clearTimeout(this.timer)
      for (const [event, listener] of Object.entries(on)) target.removeListener(event, listener)
      this.blocked = false
      next()
    }
    for (const [event, listener] of Object.entries(on)) target.on(event, listener)
    this.giveUp = () => go(() => this.give())
    this.startTimer()
  }

  /**
   * From now on `target` is given up once it takes nothing for so long.
   * @param {number} ms the shortest of all calls counts
   */
  hurry(ms) {
    this.patienceMs = Math.min(this.patienceMs, ms)
    if (this.blocked) this.startTimer()
  }

  startTimer() {
    clearTimeout(this.timer)
    if (this.patienceMs !== Infinity) this.timer = setTimeout(this.giveUp, this.patienceMs)
  }

  /** The harness' stream is gone: so is the pipe. */
  give() {
    this.native.closeOutput(this.channel)
    this.finish()
  }
}
