/**
 * A line to a server: a TCP proxy that delays, throttles, cuts and silences, for any protocol above it.
 *
 * The delay is pipelined: it says when a byte arrives, not how many may be under way. The rate is that of one
 * line, shared by all connections in one direction, with fair turns of 16 KiB.
 * @module test/support/line
 */
import net from 'node:net'
import { Direction } from './direction.js'
import { RequestCounter } from './requests.js'
import { reset } from './reset.js'

/**
 * @typedef {object} LineOptions
 * @property {number} [delayMs] one way, in each direction
 * @property {number} [bytesPerSecond] of the whole line, in each direction; default unlimited
 */

/** One proxied line. Create with {@link openLine}. */
export class Line {
  #server
  #target
  #pairs = new Set()
  #up
  #down
  #silent = false
  /** HTTP/1.1 requests that went up the line. */
  requests = new RequestCounter()
  /** Connections accepted so far. */
  connections = 0

  constructor(server, target, { delayMs = 0, bytesPerSecond = Infinity }) {
    this.#server = server
    this.#target = target
    this.#up = new Direction(delayMs, bytesPerSecond)
    this.#down = new Direction(delayMs, bytesPerSecond)
    server.on('connection', client => this.#accept(client))
  }

  /** The URL in front of the target. */
  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`
  }

  /** Bytes that went up and down so far. */
  get bytes() {
    return { up: this.#up.bytes, down: this.#down.bytes }
  }

  /** Resets every open connection, as a dropped link does; new ones are accepted. */
  cut() {
    for (const pair of this.#pairs) {
      reset(pair.client)
      reset(pair.server)
    }
  }

  /** While silent, nothing passes in either direction and nothing is closed: a half-open line. */
  set silent(yes) {
    this.#silent = yes
    for (const pair of this.#pairs) pair.hold(yes)
  }

  /** Resets everything and stops listening. */
  async close() {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.cut()
    await closed
  }

  #accept(client) {
    this.connections++
    const server = net.connect({ host: this.#target.hostname, port: Number(this.#target.port), noDelay: true })
    client.setNoDelay(true)
    const count = this.requests.connection()
    const up = this.#up.attach(client, server, count)
    const down = this.#down.attach(server, client)
    const pair = { client, server, hold: yes => { up.hold(yes); down.hold(yes) } }
    this.#pairs.add(pair)
    pair.hold(this.#silent)
    for (const [end, other] of [[client, server], [server, client]]) {
      end.on('error', () => reset(other))
      end.on('close', () => { if (other.destroyed) this.#pairs.delete(pair) })
    }
  }
}

/**
 * Opens a line to `target`.
 * @param {string} target URL of the server, http
 * @param {LineOptions} [options]
 * @returns {Promise<Line>}
 */
export async function openLine(target, options = {}) {
  const server = net.createServer({ allowHalfOpen: true })
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  return new Line(server, new URL(target), options)
}
