/**
 * One direction of a line: a delay that does not throttle, and one rate for all of its connections.
 * @module test/support/direction
 */

/** What one connection may send before the next one's turn. */
const TURN = 16 * 1024
/** What one connection may hold in the line before its reading stops. On a line without rate it is as much as a
 * fast sender puts under way in the delay, so that a delay never throttles. */
const WINDOW = 256 * 1024
const BYTES_PER_DELAY_MS = 1024 * 1024
const WINDOW_SECONDS = 0.25

/** The queue of one direction, shared by its connections. */
export class Direction {
  /** Bytes delivered. */
  bytes = 0
  #delayMs
  #rate
  #waiting = []
  #freeAt = 0
  #timer

  constructor(delayMs, bytesPerSecond) {
    this.#delayMs = delayMs
    this.#rate = bytesPerSecond
  }

  /** How much one connection may have under way. */
  get window() {
    if (this.#rate === Infinity) return WINDOW + this.#delayMs * BYTES_PER_DELAY_MS
    return Math.max(WINDOW, this.#rate * WINDOW_SECONDS)
  }

  /**
   * Carries what `from` reads to `to`.
   * @param {import('node:net').Socket} from
   * @param {import('node:net').Socket} to
   * @param {(chunk: Buffer) => void} [watch]
   * @returns {{ hold(yes: boolean): void }}
   */
  attach(from, to, watch = () => {}) {
    const flow = new Flow(this, from, to)
    from.on('data', chunk => {
      watch(chunk)
      flow.push(chunk)
    })
    from.on('end', () => flow.push(null))
    return flow
  }

  /** Queues a flow that has something to send. */
  enqueue(flow) {
    this.#waiting.push(flow)
    if (this.#timer === undefined) this.#turns()
  }

  /** Turns until the line is busy again. */
  #turns() {
    this.#timer = undefined
    while (this.#waiting.length > 0) {
      const now = performance.now()
      // A rate of 10 MiB/s gives a turn every 1.5 ms, finer than timers are: let the line be a little ahead.
      if (this.#freeAt > now + 2) {
        this.#timer = setTimeout(() => this.#turns(), this.#freeAt - now)
        return
      }
      const flow = this.#waiting.shift()
      const limited = this.#rate !== Infinity
      const start = Math.max(this.#freeAt, now)
      const size = flow.take(limited ? TURN : Infinity, start + this.#delayMs)
      this.bytes += size
      if (limited) this.#freeAt = start + (size / this.#rate) * 1000
      if (flow.pending) this.#waiting.push(flow)
    }
  }
}

/** One connection's bytes in one direction. */
class Flow {
  #direction
  #from
  #to
  #queue = []
  #queued = 0
  #held = false
  #inTurn = false
  #arrivals = []
  #arrivalTimer

  constructor(direction, from, to) {
    this.#direction = direction
    this.#from = from
    this.#to = to
    to.on('drain', () => this.#deliver())
  }

  get pending() {
    this.#inTurn = this.#queue.length > 0 && !this.#held
    return this.#inTurn
  }

  hold(yes) {
    this.#held = yes
    if (!yes) {
      this.#request()
      this.#deliver()
    }
  }

  push(chunk) {
    this.#queue.push(chunk)
    this.#queued += chunk?.length ?? 0
    if (this.#queued >= this.#direction.window) this.#from.pause()
    this.#request()
  }

  /** Takes up to `max` bytes off the queue, to arrive at time `at`; returns how many. */
  take(max, at) {
    let size = 0
    while (this.#queue.length > 0 && size < max) {
      let chunk = this.#queue.shift()
      if (chunk !== null) {
        if (chunk.length > max - size) {
          this.#queue.unshift(chunk.subarray(max - size))
          chunk = chunk.subarray(0, max - size)
        }
        size += chunk.length
      }
      this.#arrivals.push({ at, chunk })
    }
    this.#deliver()
    return size
  }

  #request() {
    if (this.#inTurn || this.#held || this.#queue.length === 0) return
    this.#inTurn = true
    this.#direction.enqueue(this)
  }

  /** Hands over what has arrived by now. */
  #deliver() {
    if (this.#held || this.#arrivalTimer !== undefined) return
    while (this.#arrivals.length > 0 && !this.#to.writableNeedDrain) {
      const wait = this.#arrivals[0].at - performance.now()
      if (wait > 0.5) {
        this.#arrivalTimer = setTimeout(() => {
          this.#arrivalTimer = undefined
          this.#deliver()
        }, wait)
        return
      }
      const { chunk } = this.#arrivals.shift()
      if (chunk === null) this.#to.end()
      else {
        this.#queued -= chunk.length
        this.#to.write(chunk)
      }
    }
    this.#read()
  }

  /** Reads on while the window and the receiver have room. */
  #read() {
    if (this.#queued < this.#direction.window) this.#from.resume()
  }
}
