/**
 * What the provider's tests share: one server and one sandbox a file, under the original TypeScript owner.
 * @module test/provider/support
 */
import { after, before } from 'node:test'
import { Context } from '@deepseek-ai/cordis'
import Owner from '@deepseek-ai/dsh-e2b'
import Provider from '../../index.js'
import { within } from '../support/deadline.js'
import { serverEnvironment, startServer } from '../support/server.js'

/** Nothing here takes longer than this. */
export const PATIENCE_MS = 30_000

/** Bounded tails as most tests want them. */
export const COLLECT = { maxBytes: 64 * 1024 }

/**
 * A server for the tests of this file, and in it one sandbox with the provider, from before the first test to after the last.
 * @param {object} [config] of the provider
 * @returns {World} filled in before the first test
 */
export function useWorld(config = {}) {
  const world = new World()
  let server
  before(async () => {
    server = await startServer()
    Object.assign(process.env, serverEnvironment(server))
    await world.load(config)
  })
  after(async () => {
    await world.dispose()
    await server.stop()
  })
  return world
}

/** A composition of owner and provider. */
export class World {
  /** Loads owner and provider in a context of their own. */
  async load(config = {}) {
    this.cwd = `/home/user/work-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
    this.ctx = new Context()
    this.errors = []
    this.ctx.logger.error = error => { this.errors.push(error) }
    this.owner = await this.ctx.plugin(Owner, { cwd: this.cwd })
    this.provider = await this.ctx.plugin(Provider, config)
    this.subprocess = this.ctx.subprocess
    this.sandbox = await within(this.ctx.e2b.getSandbox(), PATIENCE_MS, 'the sandbox')
    return this
  }

  /** Starts a command with collected outputs. */
  spawn(argv, options = {}) {
    const { stdin = 'ignore', stdout = COLLECT, stderr = COLLECT, ...rest } = options
    return this.subprocess.spawn({ argv, cwd: this.cwd, stdio: { stdin, stdout, stderr }, graceMs: 2000, ...rest })
  }

  /** Runs a command to its end. */
  async run(argv, options) {
    const handle = this.spawn(argv, options)
    const outcome = await within(handle.done, PATIENCE_MS, argv.join(' '))
    const read = name => handle.collected[name]?.readFrom(0).text
    return { ...outcome, stdout: read('stdout'), stderr: read('stderr'), handle }
  }

  /** Runs a shell line to its end. */
  sh(line, options) {
    return this.run(['sh', '-c', line], options)
  }

  /** Ends the provider, then the owner. */
  async dispose() {
    await within(this.provider.dispose(), PATIENCE_MS, 'disposal of the provider')
    await within(this.owner.dispose(), PATIENCE_MS, 'disposal of the owner')
  }
}

/**
 * All bytes of a stream.
 * @param {import('node:stream').Readable} stream
 * @returns {Promise<Buffer>}
 */
export async function bytesOf(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
