/**
 * What a perfect client without a supervisor would do: one `Process.Start` a command.
 * @module bench/bare/sandbox
 */
import { Pool } from './connection.js'
import { envelope, inputData, inputStart, readEvent, selects, startRequest } from './wire.js'

const END_OF_STREAM = 2

/** A sandbox of its own behind a server. */
export class BareSandbox {
  #server
  #pool
  #created

  /** Asks the control plane for a sandbox. */
  static async create(server) {
    const answer = await fetch(`${server.apiUrl}/sandboxes`, {
      method: 'POST',
      headers: { 'X-API-KEY': server.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ templateID: 'base', timeout: 3600, secure: true }),
    })
    if (!answer.ok) throw new Error(`create: ${answer.status} ${await answer.text()}`)
    return new BareSandbox(server, await answer.json())
  }

  constructor(server, created) {
    this.#server = server
    this.#created = created
    this.#pool = new Pool(server.sandboxUrl)
  }

  /** Deletes the sandbox and ends the connections. */
  async close() {
    this.#pool.close()
    await fetch(`${this.#server.apiUrl}/sandboxes/${this.#created.sandboxID}`, {
      method: 'DELETE', headers: { 'X-API-KEY': this.#server.apiKey },
    })
  }

  /**
   * Runs a program to its end.
   * @param {string[]} argv
   * @param {object} [options]
   * @param {boolean} [options.stdin] a pipe instead of `/dev/null`
   * @param {(pid: number) => void} [options.started]
   * @param {(bytes: number) => void} [options.data] lengths of output as it comes
   * @returns {Promise<number>} its exit code
   */
  async start(argv, { stdin = false, started = () => {}, data = () => {} } = {}) {
    let exitCode
    let failure
    const message = (head, length, flags) => {
      if (flags & END_OF_STREAM) {
        failure = length > 2 ? head.toString() : undefined
        return
      }
      const event = readEvent(head)
      if (event.kind === 'data') data(event.length)
      else if (event.kind === 'start') started(event.pid)
      else if (event.kind === 'end') exitCode = event.exitCode
    }
    const connection = await this.#pool.take()
    const status = await connection.request(...this.#call('Start', 'application/connect+proto', envelope(startRequest(argv, stdin))), message)
    this.#pool.give(connection)
    if (status !== 200 || exitCode === undefined) throw new Error(`Start: ${status} ${failure ?? 'no end event'}`)
    return exitCode
  }

  /**
   * Streams `total` bytes to a process' stdin and closes it.
   * @param {number} pid
   * @param {number} total
   * @param {Buffer} block
   */
  async stream(pid, total, block) {
    const connection = await this.#pool.take()
    const { socket } = connection
    const head = this.#head('StreamInput', 'application/connect+proto', 'Transfer-Encoding: chunked')
    let failure
    const answer = connection.request(head, chunk(envelope(inputStart(pid))), (text, length, flags) => {
      if (flags & END_OF_STREAM && length > 2) failure = text.toString()
    })
    answer.catch(() => {})
    const message = chunk(envelope(inputData(block)))
    for (let sent = 0; sent < total; sent += block.length) {
      if (!socket.write(message)) await new Promise(resolve => socket.once('drain', resolve))
    }
    socket.write('0\r\n\r\n')
    const status = await answer
    if (status !== 200 || failure !== undefined) throw new Error(`StreamInput: ${status} ${failure ?? ''}`)
    this.#pool.give(connection)
    await this.#unary('CloseStdin', selects(pid))
  }

  async #unary(method, message) {
    const connection = await this.#pool.take()
    const status = await connection.request(...this.#call(method, 'application/proto', message))
    if (status !== 200) throw new Error(`${method}: ${status}`)
    this.#pool.give(connection)
  }

  #call(method, type, body) {
    return [this.#head(method, type, `Content-Length: ${body.length}`), body]
  }

  #head(method, type, length) {
    return [
      `POST /process.Process/${method} HTTP/1.1`,
      `Host: ${new URL(this.#server.sandboxUrl).host}`,
      `Content-Type: ${type}`,
      'Connect-Protocol-Version: 1',
      `E2b-Sandbox-Id: ${this.#created.sandboxID}`,
      'E2b-Sandbox-Port: 49983',
      `X-Access-Token: ${this.#created.envdAccessToken}`,
      length,
    ].join('\r\n')
  }
}

/** One HTTP chunk. */
function chunk(bytes) {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}
