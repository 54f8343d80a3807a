/**
 * What the tests of the link share: one server a file, and providers that reach a sandbox through a faulty way of their own.
 *
 * There is no owner in between: the sandbox is the vendor SDK's object, so that nothing but the provider uses the way.
 * @module test/link/world
 */
import { randomBytes } from 'node:crypto'
import { after, before } from 'node:test'
import { Context } from '@deepseek-ai/cordis'
import { Sandbox } from 'e2b'
import Native from '../../index.js'
import { PATIENCE_MS, World, settled } from '../commands/world.js'
import { within } from '../support/deadline.js'
import { openFaultProxy } from '../support/fault-proxy.js'
import { serverEnvironment, startServer } from '../support/server.js'

export { EXTENDED, PATIENCE_MS, drain, end, gone, mark, rejection, says, settled, text } from '../commands/world.js'

/** Why a test that needs more than the seam of a server is skipped, or false. */
export const needsSandboxd = process.env.DSH_TEST_E2B_API_URL !== undefined && 'needs a sandboxd of its own'

/** Gives the file its server; `link.open()` makes worlds, which end with the file. */
export function useLink({ args = [] } = {}) {
  const link = new Link()
  before(async () => {
    link.server = await startServer(args)
    Object.assign(process.env, serverEnvironment(link.server))
  })
  after(async () => {
    try {
      for (const world of link.worlds) await world.close()
    } finally {
      await link.server?.stop()
    }
  })
  return link
}

class Link {
  /** @type {import('../support/server.js').Server} */ server
  worlds = new Set()

  /**
   * A provider of its own in a sandbox of its own, through a way of its own.
   * @param {object} [config] of the provider
   * @param {object} [options]
   * @param {Sandbox} [options.sandbox] an existing one
   * @param {Function} [options.Provider]
   * @param {object} [options.proxy] see {@link openFaultProxy}
   * @param {import('../support/fault-proxy-requests.js').Rule[]} [options.rules] from the beginning
   * @param {boolean} [options.warm] wait until the supervisor is there; default true
   * @returns {Promise<LinkWorld>}
   */
  async open(config = {}, { sandbox, Provider = Native, proxy: proxyOptions, rules = [], warm = true } = {}) {
    const proxy = await openFaultProxy(this.server.sandboxUrl, proxyOptions)
    proxy.rules = rules
    const own = sandbox ?? await Sandbox.create({ timeoutMs: 3_600_000 })
    const through = new Sandbox({
      ...own.connectionConfig, sandboxUrl: proxy.url, sandboxId: own.sandboxId, sandboxDomain: own.sandboxDomain,
      envdVersion: own.envdApi.version, envdAccessToken: own.envdAccessToken, trafficAccessToken: own.trafficAccessToken,
    })
    const cwd = `/home/user/link-${randomBytes(6).toString('hex')}`
    await own.commands.run(`mkdir ${cwd}`)
    const world = new LinkWorld({ cwd, proxy, direct: own, through, owned: sandbox === undefined, server: this.server })
    this.worlds.add(world)
    await world.load(Provider, config)
    if (warm) await settled(world.spawn(['true']), 'the first command')
    return world
  }
}

/** One provider, its sandbox, and the way between them. */
export class LinkWorld extends World {
  #cwd

  constructor({ cwd, proxy, direct, through, owned, server }) {
    super()
    // Of its own, as servers may share a file system.
    this.#cwd = cwd
    Object.assign(this, { proxy, direct, through, owned, server })
  }

  get cwd() {
    return this.#cwd
  }

  async load(Provider, config) {
    this.ctx = new Context()
    this.errors = []
    this.ctx.logger.error = error => { this.errors.push(error) }
    const { through } = this
    this.ctx.reflect.provide('e2b', { cwd: this.cwd, runtimeRoot: '/home/user/.dsh-e2b', getSandbox: async () => through })
    this.fiber = await this.ctx.plugin(Provider, config)
    this.subprocess = this.ctx.subprocess
  }

  /** Disposes the provider; what its teardown throws is in `errors`, as Cordis reports it. */
  async dispose() {
    this.disposed ??= within(Promise.resolve(this.fiber.dispose()), PATIENCE_MS * 2, 'disposal of the provider')
    return this.disposed
  }

  /** Past the provider and the faulty way: a line of bash by the vendor's SDK. */
  async witness(script, { user = 'user' } = {}) {
    const result = await this.direct.commands.run(script, { user, cwd: this.#cwd }).catch(error => {
      if (typeof error.exitCode !== 'number') throw error
      return error
    })
    return result.stdout
  }

  /** Our processes in the sandbox: the one that carries this connection, and the resident's two. */
  async supervisor() {
    const listing = await this.witness("for p in $(pgrep -f '[s]upervisor.* join '); do cut -d' ' -f1,4 /proc/$p/stat; done")
    const processes = listing.trim().split('\n').map(line => line.split(' ').map(Number))
    const children = pid => processes.filter(([, parent]) => parent === pid).length
    // The worker has prepared processes; the guardian is its parent; who is neither and nobody's child of these is a joiner.
    const [worker, guardian] = processes.find(([pid]) => children(pid) > 1) ?? []
    const joiners = processes.filter(([pid, parent]) => pid !== guardian && parent !== guardian && parent !== worker).map(([pid]) => pid)
    if (!(worker > 1 && guardian > 1 && joiners.length > 0)) throw new Error(`no supervisor in:\n${listing}`)
    return { worker, guardian, joiners }
  }

  /** Heals the way. */
  heal() {
    this.proxy.bytes = {}
    this.proxy.rules = []
    this.proxy.upstreamSilent = false
  }

  async close() {
    this.heal()
    await this.dispose().catch(() => {})
    if (this.owned) await this.direct.kill().catch(() => {})
    await this.proxy.close()
  }
}
