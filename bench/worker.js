/**
 * The bench's end of a child: starts it, asks it for rounds, ends it.
 * @module bench/worker
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openLine } from '../__test__/support/line.js'
import { serverEnvironment } from '../__test__/support/server.js'

const STOP_MS = 70_000

/** One subject at one row. */
export class Worker {
  #child
  #line
  #waiting

  /**
   * @param {object} row
   * @param {string} name of the subject
   * @param {import('../__test__/support/server.js').Server} server
   * @param {object} options given to the row
   * @returns {Promise<Worker>} ready to measure
   */
  static async open(row, name, server, options) {
    const line = row.line === undefined ? undefined : await openLine(server.sandboxUrl, row.line)
    const { apiUrl, apiKey } = server
    const seen = { apiUrl, apiKey, sandboxUrl: line?.url ?? server.sandboxUrl }
    const worker = new Worker(row, name, seen, options, line)
    try {
      await worker.#next(row.timeoutMs)
      return worker
    } catch (cause) {
      await worker.close()
      throw cause
    }
  }

  constructor(row, name, server, options, line) {
    this.#line = line
    this.#child = fork(fileURLToPath(new URL('child.js', import.meta.url)), [name, row.name, JSON.stringify(server), JSON.stringify(options)], {
      env: { ...process.env, ...serverEnvironment(server) },
      execArgv: ['--expose-gc'],
    })
    this.#child.on('message', message => {
      if (message.ask === 'requests') this.#child.send({ requests: this.#line.requests.total })
      else if (message.ask === 'cut') this.#line.cut()
      else if (message.error !== undefined) this.#waiting?.reject(new Error(message.error))
      else this.#waiting?.resolve(message.value)
    })
    this.#child.on('exit', (code, signal) => this.#waiting?.reject(new Error(`the child ended: ${code ?? signal}`)))
  }

  /** Measures one round. */
  round(timeoutMs) {
    this.#child.send('round')
    return this.#next(timeoutMs)
  }

  /** Ends the child and its line. */
  async close() {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const exited = new Promise(resolve => this.#child.once('exit', resolve))
      if (this.#child.connected) this.#child.send('stop')
      const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(late)
    }
    await this.#line?.close()
  }

  async #next(timeoutMs) {
    let timer
    try {
      return await new Promise((resolve, reject) => {
        timer = setTimeout(() => {
          reject(new Error(`not within ${timeoutMs / 1000} s`))
          this.#child.kill('SIGKILL')
        }, timeoutMs)
        this.#waiting = { resolve, reject }
      })
    } finally {
      clearTimeout(timer)
      this.#waiting = undefined
    }
  }
}
