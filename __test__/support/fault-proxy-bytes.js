/**
 * The part of the fault proxy that breaks connections, whatever is spoken on them.
 * @module test/support/fault-proxy-bytes
 */
import net from 'node:net'
import { reset } from './reset.js'

/** What happens to the bytes of each connection. */
export class ByteFaults {
  /** A connection is closed so long after it was opened, in milliseconds. @type {number | undefined} */ cutAfterMs
  /** … at a random moment within twice that time. */ random = false
  /** A connection that carried nothing for so long is closed, in milliseconds. @type {number | undefined} */ cutIdleMs
  /** A connection carries nothing more from then on, and stays open; after milliseconds. @type {number | undefined} */ freezeAfterMs
  /** How connections are closed. @type {'rst' | 'fin'} */ how = 'rst'
  /** New connections are accepted and carry nothing. */ frozen = false
  /** One byte at a time. */ trickle = false

  /** @param {Partial<ByteFaults>} faults */
  constructor(faults = {}) {
    for (const [key, value] of Object.entries(faults)) {
      if (!(key in this)) throw new Error(`there is no fault ${key}`)
      this[key] = value
    }
  }
}

/**
 * Opens a relay to a local port.
 * @param {number} port
 * @returns {Promise<Relay>}
 */
export async function openByteFaults(port) {
  const server = net.createServer({ allowHalfOpen: true })
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  return new Relay(server, port)
}

class Relay {
  #server
  #target
  #pairs = new Set()
  faults = new ByteFaults()

  constructor(server, target) {
    this.#server = server
    this.#target = target
    server.on('connection', client => this.#accept(client))
  }

  get port() {
    return this.#server.address().port
  }

  get open() {
    return this.#pairs.size
  }

  cut(how = 'rst') {
    for (const pair of this.#pairs) pair.cut(how)
  }

  freeze() {
    for (const pair of this.#pairs) pair.freeze()
  }

  close() {
    this.#server.close()
    this.cut()
  }

  #accept(client) {
    const server = net.connect({ port: this.#target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    client.setNoDelay(true)
    const pair = new Pair(client, server, this)
    this.#pairs.add(pair)
    pair.closed.then(() => this.#pairs.delete(pair))
  }
}

/** One connection and its other half. */
class Pair {
  #frozen = false
  #timers = []

  constructor(client, server, relay) {
    this.client = client
    this.server = server
    this.relay = relay
    this.closed = new Promise(resolve => {
      for (const [end, other] of [[client, server], [server, client]]) {
        end.on('error', () => reset(other))
        end.on('close', () => {
          if (!other.destroyed) return
          for (const timer of this.#timers) clearTimeout(timer)
          resolve()
        })
      }
    })
    const { cutAfterMs, random, freezeAfterMs, frozen, how } = relay.faults
    if (cutAfterMs !== undefined) this.#after(random ? Math.random() * 2 * cutAfterMs : cutAfterMs, () => this.cut(how))
    if (freezeAfterMs !== undefined) this.#after(freezeAfterMs, () => this.freeze())
    if (frozen) this.freeze()
    this.#carry(client, server)
    this.#carry(server, client)
  }

  cut(how) {
    if (how === 'fin') {
      this.client.end()
      this.server.end()
      // An end alone leaves the other direction open, which nobody would notice.
      this.client.destroySoon()
      this.server.destroySoon()
    } else {
      reset(this.client)
      reset(this.server)
    }
  }

  freeze() {
    this.#frozen = true
    this.client.pause()
    this.server.pause()
  }

  #after(ms, act) {
    this.#timers.push(setTimeout(act, ms))
  }

  #carry(from, to) {
    let idle
    const busy = () => {
      const { cutIdleMs, how } = this.relay.faults
      clearTimeout(idle)
      if (cutIdleMs !== undefined) this.#timers.push(idle = setTimeout(() => this.cut(how), cutIdleMs))
    }
    busy()
    from.on('data', async chunk => {
      if (this.#frozen) return
      busy()
      if (this.relay.faults.trickle) {
        from.pause()
        for (let at = 0; at < chunk.length && !to.destroyed; at++) {
          to.write(chunk.subarray(at, at + 1))
          await new Promise(setImmediate)
        }
        if (!this.#frozen) from.resume()
      } else if (!to.write(chunk)) {
        from.pause()
        to.once('drain', () => { if (!this.#frozen) from.resume() })
      }
    })
    from.on('end', () => { if (!this.#frozen) to.end() })
  }
}
