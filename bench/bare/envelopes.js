/**
 * Reads a chunked HTTP body of Connect envelopes without keeping or copying the payload.
 * @module bench/bare/envelopes
 */

const HEAD = 5
/** Enough of a message to know what it is; the rest of a data message is only counted. */
const PEEK = 64

/** Takes the pieces of a chunked body, gives messages. */
export class Envelopes {
  #chunk = 0
  #line = ''
  #state = 'size'
  #head = Buffer.alloc(HEAD)
  #headLength = 0
  #left = 0
  #peek = Buffer.alloc(PEEK)
  #peekLength = 0
  #message
  #done

  /**
   * @param {(head: Buffer, length: number, flags: number) => void} message called once a message is complete
   * @param {() => void} done called at the end of the body
   */
  constructor(message, done) {
    this.#message = message
    this.#done = done
  }

  /** @param {Buffer} bytes the next piece of the body; not kept */
  push(bytes) {
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#chunk)
        this.#payload(bytes, at, end)
        this.#chunk -= end - at
        at = end
        if (this.#chunk === 0) this.#state = 'crlf'
        continue
      }
      const newline = bytes.indexOf(10, at)
      this.#line += bytes.toString('latin1', at, newline < 0 ? bytes.length : newline)
      if (newline < 0) return
      at = newline + 1
      this.#control(this.#line.trim())
      this.#line = ''
    }
  }

  #control(line) {
    if (this.#state === 'crlf') this.#state = 'size'
    else if (this.#state === 'trailer') {
      if (line === '') {
        this.#state = 'size'
        this.#done()
      }
    } else {
      this.#chunk = Number.parseInt(line, 16)
      this.#state = this.#chunk === 0 ? 'trailer' : 'data'
    }
  }

  #payload(bytes, at, end) {
    while (at < end) {
      if (this.#headLength < HEAD) {
        this.#head[this.#headLength++] = bytes[at++]
        if (this.#headLength === HEAD) {
          this.#left = this.#head.readUInt32BE(1)
          if (this.#left === 0) this.#complete()
        }
        continue
      }
      const take = Math.min(end - at, this.#left)
      if (this.#peekLength < PEEK) this.#peekLength += bytes.copy(this.#peek, this.#peekLength, at, at + Math.min(take, PEEK - this.#peekLength))
      at += take
      this.#left -= take
      if (this.#left === 0) this.#complete()
    }
  }

  #complete() {
    this.#message(this.#peek.subarray(0, this.#peekLength), this.#head.readUInt32BE(1), this.#head[0])
    this.#headLength = 0
    this.#peekLength = 0
  }
}
