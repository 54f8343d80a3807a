/**
 * The Cordis plugin: `ctx.subprocess` in the owner's E2B sandbox.
 * @module dsh-subprocess-native/lib/provider
 */
import { Config, resolveConfig, serviceConfig } from './config.js'
import { disposeAll } from './dispose.js'
import { sandboxFacts } from './facts.js'
import { Handle, outputSpec } from './handle.js'
import { earlySandbox, takeHold } from './hold.js'
import { packedSupervisors } from './load.js'
import { NativeService, waker } from './native.js'
import { requireCommand, resolveIn, unlessAborted } from './resolve.js'
import { sessionIn } from './secret.js'
import { adopt, listRunning } from './session.js'
import { openTerminal } from './terminal.js'
import { requireGrace, requireSpawn, requireStdio, unspeakable, variables } from './validate.js'

/**
 * The subprocess service over E2B. Plain fields only: consumers and Cordis call its methods on objects that inherit from it.
 */
export class E2BSubprocessRuntime {
  static inject = ['e2b']
  static Config = Config

  /**
   * @param {object} ctx a Cordis context that has `e2b`
   * @param {object} [config]
   */
  constructor(ctx, config) {
    const { session, ...shown } = resolveConfig(config)
    // An inspected service must not show the secret.
    this.config = shown
    this.sessionIn = sandboxId => sessionIn(session, sandboxId)
    this.hasSession = session !== undefined
    this.ctx = ctx
    this.name = 'subprocess'
    this.disposing = false
    this.detached = false
    this.internals = {}
    this.live = new Set()
    this.terminals = new Set()
    this.setups = new Set()
    this.native = new NativeService(serviceConfig(this.config, packedSupervisors()), waker)
    ctx.reflect.provide('subprocess', this)
    ctx.effect(() => {
      const letGo = takeHold(ctx.e2b, { isBusy: () => this.live.size + this.terminals.size > 0, isLeaving: () => this.disposing })
      return () => dispose(this).finally(letGo)
    }, 'e2b subprocess teardown')
    // The supervisor is on its way before the first command needs it. Each command asks again, and tells what is wrong.
    prepare(this).catch(() => {})
  }

  /**
   * Finds an executable in the sandbox.
   * @param {string} command an absolute path, or a bare name
   * @param {Readonly<Record<string, string>>} [env] `PATH` of it is searched; else the ambient one
   * @param {AbortSignal} [signal]
   * @returns {Promise<string>} an absolute path
   */
  async resolveExecutable(command, env, signal) {
    requireCommand(command)
    signal?.throwIfAborted()
    const sandboxId = await unlessAborted(target(this), signal)
    return resolveIn(this.native, sandboxId, command, { path: env?.PATH ?? null, cwd: this.ctx.e2b.cwd, signal })
  }

  /**
   * Starts a command. Returns at once; the start runs behind.
   * @param {object} spec
   * @returns {Handle}
   */
  spawn(spec) {
    if (this.disposing) throw leaving()
    requireSpawn(spec)
    const stdio = requireStdio(spec.stdio)
    const refusal = unspeakable(spec)
    const native = this.native.spawn({
      argv: [...spec.argv],
      cwd: spec.cwd,
      env: variables(spec.env),
      graceMs: spec.graceMs,
      stdin: stdio.stdin !== 'ignore',
      stdout: outputSpec(stdio.stdout),
      stderr: outputSpec(stdio.stderr),
    })
    const handle = new Handle(native, spec, stdio, () => this.live.delete(handle))
    this.live.add(handle)
    // Without a prepared process the caller may be held for an id. The owner is asked as for every command, but afterwards: only this
    // thread could hear its answer.
    if (refusal === undefined && this.config.startupWaitMs > 0 && handle.pid <= 0) this.native.startAndWait(native, this.config.startupWaitMs)
    const start = refusal === undefined ? target(this) : Promise.reject(refusal)
    start.then(sandboxId => this.native.start(native, sandboxId)).catch(error => {
      // A disposal calls off what did not begin, and waits for it.
      if (this.disposing && !this.detached) handle.terminate()
      else handle.fail(error)
    })
    return handle
  }

  /**
   * Opens a terminal with a program in it.
   * @param {object} spec
   * @returns {Promise<import('./terminal.js').TerminalHandle>}
   */
  async spawnTerminal(spec) {
    if (this.disposing) throw leaving()
    if (!spec.argv[0]) throw new Error('subprocess-e2b: terminal argv must contain a program')
    requireGrace(spec.graceMs)
    spec.signal?.throwIfAborted()
    const refusal = unspeakable(spec)
    if (refusal !== undefined) throw refusal
    return openTerminal(this, spec, () => target(this))
  }

  /**
   * The commands that an earlier process of this harness started in the sandbox and left running; needs the `session` that it had.
   * @returns {Promise<{ id: number, pid: number, argv: string[] }[]>}
   */
  async listRunning() {
    if (!this.hasSession) throw new Error('subprocess-e2b: listRunning needs the configuration key session')
    return listRunning(this.native, await target(this))
  }

  /**
   * Goes on with one of them. Its input was the earlier process': it gets no more.
   * @param {number} id from {@link listRunning}
   * @param {object} [options] `stdout`, `stderr` as in a spec's `stdio` (default: the last MiB), `graceMs` (default 5000)
   * @returns {Promise<Handle>} its outputs go on from the last byte that the earlier process had acknowledged
   */
  async attachTo(id, options = {}) {
    const found = (await this.listRunning()).find(one => one.id === id)
    if (found === undefined) throw new Error(`subprocess-e2b: no running command ${id} was found`)
    return adopt(this, await target(this), found, options)
  }

  /** Lets go without ending anything: what runs is left to a later process with the same `session`. The service is over by that. */
  detach() {
    this.detached = true
    leave(this)
    this.native.close()
  }
}

/**
 * The sandbox that commands go to now; its supervisor is being reached.
 * @param {E2BSubprocessRuntime} service
 * @returns {Promise<string>} its id
 */
async function target(service) {
  if (service.disposing) throw leaving()
  const owner = service.ctx.e2b
  return attach(service, owner, await owner.getSandbox())
}

const leaving = () => new Error('subprocess-e2b: service is disposing')

/** Nothing begins any more, and what is being set up is called off. */
function leave(service) {
  service.disposing = true
  for (const setup of service.setups) setup.abort(leaving())
}

function attach(service, owner, sandbox) {
  // The owner may take long. Nothing is brought into a sandbox, or started there, for a service that is gone by then.
  if (service.disposing) throw leaving()
  const { native } = service
  if (typeof sandbox?.sandboxId !== 'string' || !native.knows(sandbox.sandboxId)) {
    native.attach(sandboxFacts(sandbox, owner.runtimeRoot), service.sessionIn(sandbox?.sandboxId))
  }
  return sandbox.sandboxId
}

/** Begins to reach the sandbox' supervisor; while the sandbox is being set up already, when the owner tells of it. */
async function prepare(service) {
  const owner = service.ctx.e2b
  const early = earlySandbox(owner)
  if (early === undefined) return target(service)
  const sandbox = await early.sandbox
  attach(service, owner, sandbox)
  await owner.getSandbox().catch(() => {
    if (early.wasKilled()) service.native.gone(sandbox.sandboxId)
  })
}

/** @param {E2BSubprocessRuntime} service */
async function dispose(service) {
  leave(service)
  if (!service.detached) await disposeAll(service)
}

export default E2BSubprocessRuntime
