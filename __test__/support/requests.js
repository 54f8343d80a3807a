/**
 * Counts HTTP/1.1 requests in the bytes that a client sends, by reading the framing.
 * @module test/support/requests
 */

const BLANK = Buffer.from('\r\n\r\n')
const LINE = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)
/** A head that is longer is no HTTP; the connection is then not looked at any more. */
const MAX_HEAD = 64 * 1024

/** Requests by method and path. */
export class RequestCounter {
  /** @type {Map<string, number>} `METHOD PATH` (without query) to count */
  byRoute = new Map()
  /** All requests. */
  total = 0

  /**
   * A counter for one connection.
   * @returns {(chunk: Buffer) => void} to be given each chunk in order
   */
  connection() {
    const reader = new Reader(route => {
      this.byRoute.set(route, (this.byRoute.get(route) ?? 0) + 1)
      this.total++
    })
    return chunk => reader.push(chunk)
  }

  /** Starts again from zero. */
  reset() {
    this.byRoute.clear()
    this.total = 0
  }
}

/** Follows heads, lengths and chunks; a body is skipped, not kept. */
class Reader {
  #request
  #rest = EMPTY
  #skip = 0
  #state = 'head'

  constructor(request) {
    this.#request = request
  }

  push(chunk) {
    if (this.#state === 'blind') return
    let bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, chunk]) : chunk
    for (;;) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, bytes.length)
        this.#skip -= skipped
        bytes = bytes.subarray(skipped)
      }
      const end = bytes.indexOf(this.#state === 'head' ? BLANK : LINE)
      if (this.#skip > 0 || end < 0) break
      const text = bytes.toString('latin1', 0, end)
      bytes = bytes.subarray(end + (this.#state === 'head' ? BLANK : LINE).length)
      this[this.#state](text)
    }
    if (bytes.length > MAX_HEAD) this.#state = 'blind'
    this.#rest = this.#state === 'blind' ? EMPTY : Buffer.from(bytes)
  }

  head(text) {
    const [, method, path] = /^(?:\r\n)*([A-Z]+) ([^? ]+)/.exec(text) ?? [undefined, 'UNREADABLE', '']
    this.#request(`${method} ${path}`)
    if (/^transfer-encoding: *chunked/im.test(text)) this.#state = 'size'
    else this.#skip = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0)
  }

  size(text) {
    const size = Number.parseInt(text, 16)
    if (size > 0) this.#skip = size + LINE.length
    else this.#state = 'trailer'
  }

  trailer(text) {
    if (text === '') this.#state = 'head'
  }
}
