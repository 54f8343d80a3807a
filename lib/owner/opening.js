/**
 * One sandbox from before its creation to its end.
 * @module dsh-subprocess-native/lib/owner/opening
 */
import { answered, NativeOwner, waker } from '../native.js'
import { ownerConfig } from './config.js'
import { showAs } from './discreet.js'
import { ownerError } from './errors.js'
import { loadSdk, makeSandbox } from './sandbox.js'

/** Begins at once. `created` and `ready` may fail unheard. */
export class Opening {
  /** @param {object} config what `resolveConfig` gave */
  constructor(config) {
    this.config = config
    this.native = undefined
    this.stopped = false
    /** Whether the sandbox' life is ours to end. */
    this.owns = config.sandboxId === undefined
    /** Whether there is, or was, a sandbox. */
    this.exists = false
    /** Whether the one attempt was made to end what could not be set up. */
    this.wasKilled = false
    this.sdk = undefined
    showAs(this, () => ({ exists: this.exists, stopped: this.stopped, wasKilled: this.wasKilled }), 'Opening')
    const { sdk } = config
    // A module that is named may be missing: that must show before there is a sandbox to pay for.
    const begun = sdk === undefined ? this.begin(loadSdk()) : loadSdk(sdk).then(loaded => this.begin(loaded))
    this.created = this.create(begun)
    this.ready = this.setUp()
    for (const promise of [this.created, this.ready]) promise.catch(() => {})
  }

  begin(sdk) {
    if (this.stopped) throw new Error('E2B sandbox service is disposing')
    this.sdk = sdk
    this.native = new NativeOwner(ownerConfig(this.config), waker)
  }

  async create(begun) {
    await begun
    const { error, sandbox } = await answered(this.native.created())
    if (error !== null) throw this.error(error)
    this.exists = true
    return makeSandbox(this.sdk, sandbox, this.config)
  }

  async setUp() {
    try {
      const sandbox = await this.created
      const { error, rolledBack } = await answered(this.native.ready())
      if (error === null) return sandbox
      this.wasKilled = rolledBack
      throw this.error(error)
    } catch (error) {
      await this.rollBack()
      throw error
    }
  }

  /** The addon rolls back what it could not set up; what is left is an SDK that can't make its object. */
  async rollBack() {
    if (!this.owns || !this.exists || this.wasKilled || this.stopped) return
    this.wasKilled = true
    // The first error is the one to tell.
    await this.kill().catch(() => {})
  }

  /** Nothing is attempted any more but what is under way. */
  stop() {
    this.stopped = true
    this.native?.stop()
  }

  /** Lets the sandbox live for its whole time from now. */
  extend() {
    return this.ask(this.native.extend())
  }

  /** Ends the sandbox if it is ours; one that is gone is fine. */
  kill() {
    return this.ask(this.native.kill())
  }

  /** Nothing is asked any more: connections are let go. */
  close() {
    this.native?.close()
  }

  async ask(request) {
    const { error } = await answered(request)
    if (error !== null) throw this.error(error)
  }

  error(facts) {
    return ownerError(facts, this.sdk, !this.owns)
  }
}
