/**
 * One HTTP/1.1 connection to the edge, as bare as it can be: one request at a time, one reused read buffer.
 * @module bench/bare/connection
 */
import net from 'node:net'
import { Envelopes } from './envelopes.js'

const READ_BUFFER = 256 * 1024
const BLANK = Buffer.from('\r\n\r\n')

/** A connection; {@link Pool} hands them out. */
export class Connection {
  #socket
  #response
  #head = ''
  #ready

  constructor(url) {
    const { hostname, port } = new URL(url)
    const onread = { buffer: Buffer.allocUnsafe(READ_BUFFER), callback: (size, buffer) => this.#read(buffer.subarray(0, size)) }
    this.#socket = net.connect({ host: hostname, port: Number(port), noDelay: true, onread })
    this.#ready = new Promise((resolve, reject) => this.#socket.once('connect', resolve).once('error', reject))
    this.#socket.on('error', error => this.#fail(error))
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')))
  }

  /** When it can be used. */
  get ready() {
    return this.#ready
  }

  /** The socket, for requests whose body is written while they run. */
  get socket() {
    return this.#socket
  }

  /**
   * Sends a request; `message` is called for each envelope of a chunked answer.
   * @param {string} head request line and headers, without the blank line
   * @param {Buffer} body
   * @param {(head: Buffer, length: number, flags: number) => void} [message]
   * @returns {Promise<number>} the status, when the answer is complete
   */
  request(head, body, message = () => {}) {
    return new Promise((resolve, reject) => {
      this.#response = { resolve, reject, message, status: 0, left: 0, body: undefined }
      this.#socket.write(Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]))
    })
  }

  /** Ends it, whatever runs on it. */
  close() {
    this.#socket.destroy()
  }

  #read(bytes) {
    const response = this.#response
    if (response === undefined) return true
    let rest = bytes
    if (response.status === 0) {
      this.#head += bytes.toString('latin1')
      const end = this.#head.indexOf('\r\n\r\n')
      if (end < 0) return true
      rest = bytes.subarray(bytes.length - (this.#head.length - end - BLANK.length))
      this.#begin(response, this.#head.slice(0, end))
      this.#head = ''
    }
    if (response.body !== undefined) response.body.push(rest)
    else {
      response.left -= rest.length
      if (response.left <= 0) this.#finish(response)
    }
    return true
  }

  #begin(response, head) {
    response.status = Number(head.split(' ', 2)[1])
    if (/^transfer-encoding: *chunked/im.test(head)) {
      response.body = new Envelopes(response.message, () => this.#finish(response))
    } else response.left = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  }

  #finish(response) {
    this.#response = undefined
    response.resolve(response.status)
  }

  #fail(error) {
    this.#response?.reject(error)
    this.#response = undefined
  }
}

/** Keeps connections that are not in use. */
export class Pool {
  #url
  #idle = []
  #all = new Set()

  /** @param {string} url the edge */
  constructor(url) {
    this.#url = url
  }

  /** A connection that nothing runs on. */
  async take() {
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    const connection = new Connection(this.#url)
    this.#all.add(connection)
    await connection.ready
    return connection
  }

  /** Gives one back. */
  give(connection) {
    this.#idle.push(connection)
  }

  /** Ends them all. */
  close() {
    for (const connection of this.#all) connection.close()
  }
}
