/**
 * The Cordis plugin: `ctx.subprocess` on this machine.
 * @module dsh-subprocess-native/lib/local/provider
 */
import './here.js'
import { tmpdir } from 'node:os'
import { packedSupervisors } from '../load.js'
import { NativeLocal, waker } from '../native.js'
import { requireSpawn, requireStdio, unspeakable, variables } from '../validate.js'
import { ambient } from './ambient.js'
import { disposeAll } from './dispose.js'
import { LocalHandle, localOutput } from './handle.js'
import { requireChildProcesses } from './permission.js'
import { resolveHere } from './resolve.js'
import { openTerminal } from './terminal.js'

const PROVIDER = 'subprocess-local'

/**
 * The subprocess service over this machine's own processes. Plain fields only: consumers and Cordis call its methods on objects
 * that inherit from it.
 */
export class LocalSubprocessRuntime {
  /** @param {object} ctx a Cordis context */
  constructor(ctx) {
    this.ctx = ctx
    this.name = 'subprocess'
    this.disposing = false
    /** `spillDir` of it decides where spill files go. */
    this.internals = {}
    this.live = new Set()
    this.terminals = new Set()
    ctx.reflect.provide('subprocess', this)
    this.native = new NativeLocal(waker, packedSupervisors())
    ctx.effect(() => own(this), 'local subprocess teardown')
  }

  /**
   * Finds an executable.
   * @param {string} command an absolute path, or a bare name
   * @param {Readonly<Record<string, string>>} [env] `PATH` of it is searched; else the ambient one
   * @param {AbortSignal} [signal]
   * @returns {Promise<string>} an absolute path
   */
  async resolveExecutable(command, env, signal) {
    return resolveHere(command, env, signal)
  }

  /**
   * Starts a command; its `pid` is there at once.
   * @param {object} spec
   * @returns {LocalHandle}
   */
  spawn(spec) {
    if (this.disposing) throw new Error('subprocess-local: service is disposing')
    requireSpawn(spec)
    const stdio = requireStdio(spec.stdio)
    const refusal = unspeakable(spec, PROVIDER)
    if (refusal !== undefined) throw refusal
    requireChildProcesses(PROVIDER)
    const native = this.native.spawn({
      argv: [...spec.argv],
      // As Node's own spawn: an empty one is none.
      cwd: spec.cwd || null,
      ambient: ambient(PROVIDER),
      env: variables(spec.env),
      graceMs: spec.graceMs,
      stdin: stdio.stdin !== 'ignore',
      stdout: localOutput(stdio.stdout),
      stderr: localOutput(stdio.stderr),
      spillDirectory: this.internals.spillDir ?? null,
      temporary: spills(stdio) ? tmpdir() : '',
    })
    const handle = new LocalHandle(native, spec, stdio, () => this.live.delete(handle))
    this.live.add(handle)
    return handle
  }

  /**
   * Opens a terminal with a program in it.
   * @param {object} spec
   * @returns {Promise<import('../terminal.js').TerminalHandle>}
   */
  async spawnTerminal(spec) {
    if (this.disposing) throw new Error('subprocess-local: service is disposing')
    return openTerminal(this, spec)
  }
}

/** Whether a directory of temporary files may be needed: asking for it reads three variables. */
function spills({ stdout, stderr }) {
  return stdout.spill != null || stderr.spill != null
}

/** What the service holds of the process itself, until its end. */
function own(service) {
  // Node's last moment: no promise, no timer (C73).
  const onExit = () => { service.native.killAll() }
  process.prependListener('exit', onExit)
  return async () => {
    try {
      service.disposing = true
      await disposeAll(service)
    } finally {
      process.off('exit', onExit)
    }
  }
}

export default LocalSubprocessRuntime
