/**
 * The Cordis plugin: `ctx.e2b`, one sandbox for all adapters.
 * @module dsh-subprocess-native/lib/owner/owner
 */
import { CREATED, HOLD } from '../hold.js'
import { Config, resolveConfig } from './config.js'
import { showAs } from './discreet.js'
import { Holds } from './holds.js'
import { KeepAlive } from './keep-alive.js'
import { Opening } from './opening.js'

/**
 * The owner of an E2B sandbox. Plain fields only: consumers and Cordis call its methods on objects that inherit from it.
 */
export class E2BRuntime {
  static Config = Config

  /**
   * @param {object} ctx a Cordis context
   * @param {object} [config]
   */
  constructor(ctx, config) {
    const resolved = resolveConfig(config)
    this.ctx = ctx
    this.name = 'e2b'
    /** The directory in the sandbox that all adapters share. */
    this.cwd = resolved.cwd
    /** The directory in the sandbox for what adapters keep there. */
    this.runtimeRoot = resolved.runtimeRoot
    this.disposed = false
    this.holds = new Holds()
    this.keepAlive = undefined
    this.opening = undefined
    showAs(this, () => ({ cwd: this.cwd, runtimeRoot: this.runtimeRoot, disposed: this.disposed }), 'E2BRuntime')
    ctx.reflect.provide('e2b', this)
    ctx.effect(() => () => dispose(this), 'e2b sandbox teardown')
    this.opening = new Opening(resolved)
    if (resolved.keepAlive) keepAlive(this, resolved.timeoutMs)
  }

  /**
   * The sandbox, ready, the same for every adapter.
   * @returns {Promise<import('e2b').Sandbox>} rejects with the failure of its setup, or when the service is disposing
   */
  async getSandbox() {
    refuseDisposed(this)
    let sandbox
    try {
      sandbox = await this.opening.ready
    } catch (error) {
      refuseDisposed(this)
      throw error
    }
    refuseDisposed(this)
    this.keepAlive?.touch()
    return sandbox
  }

  /** See `lib/hold.js`. */
  [HOLD](holder) {
    return this.holds.take(holder)
  }

  /** See `lib/hold.js`. In a sandbox that is not ours nothing is done before its directories were looked at. */
  [CREATED]() {
    const { opening } = this
    return opening.owns ? { sandbox: opening.created, wasKilled: () => opening.wasKilled } : undefined
  }
}

function refuseDisposed(owner) {
  if (owner.disposed) throw new Error('E2B sandbox service is disposing')
}

/** @param {E2BRuntime} owner */
function keepAlive(owner, timeoutMs) {
  const { opening, holds } = owner
  opening.ready.then(() => {
    if (owner.disposed) return
    owner.keepAlive = new KeepAlive(timeoutMs, () => holds.isBusy(), () => opening.extend())
  }, () => {})
}

/** @param {E2BRuntime} owner */
async function dispose(owner) {
  const { opening, holds } = owner
  owner.disposed = true
  owner.keepAlive?.stop()
  // Its constructor was not through.
  if (opening === undefined) return
  opening.stop()
  // A create that is under way is waited for: given up, it would leave a sandbox behind.
  await opening.ready.catch(() => {})
  await holds.released()
  try {
    if (opening.owns && !opening.wasKilled && opening.exists) await opening.kill()
  } finally {
    opening.close()
  }
}

export default E2BRuntime
