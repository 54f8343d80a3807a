/**
 * What the provider's tests share: a server a file, and in it sandboxes with the provider under the original TypeScript owner.
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
 * A server for the tests of this file, named by the environment as the SDK reads it.
 * @returns {Used} its `server` is there from before the first test on
 */
export function useServer() {
  const used = new Used()
  before(() => used.begin())
  after(() => used.end())
  return used
}

/**
 * The same with one sandbox in it for the whole file.
 * @param {object} [config] of the provider
 * @returns {World} filled in before the first test
 */
export function useWorld(config = {}) {
  const used = new Used()
  const world = new World()
  before(async () => {
    await used.begin()
    await used.load(config, {}, world)
  })
  after(() => used.end())
  return world
}

/** A server and what was loaded against it; all of it ends with the file. */
class Used {
  cleanups = []

  async begin() {
    this.server = await startServer()
    Object.assign(process.env, serverEnvironment(this.server))
  }

  /**
   * Loads owner and provider.
   * @param {object} [config] of the provider
   * @param {{ Provider?: Function, Context?: Function, owner?: object }} [parts] others than the usual ones
   * @param {World} [world]
   */
  async load(config = {}, parts = {}, world = new World()) {
    this.cleanups.push(() => world.dispose())
    return world.load(config, parts)
  }

  async end() {
    for (const cleanup of this.cleanups.reverse()) await cleanup()
    await this.server.stop()
  }
}

/** A composition of owner and provider. */
export class World {
  /** Loads owner and provider in a context of their own. */
  async load(config = {}, { Provider: Class = Provider, Context: Root = Context, owner = {} } = {}) {
    this.cwd = `/home/user/work-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
    this.ctx = new Root()
    this.errors = []
    this.ctx.logger.error = error => { this.errors.push(error) }
    this.owner = await this.ctx.plugin(Owner, { cwd: this.cwd, ...owner })
    this.provider = await this.ctx.plugin(Class, config)
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
