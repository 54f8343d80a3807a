/**
 * The harness' own terminals over ours: the registry, its bash backend and the persistent bash tool, composed by the loader.
 * @module test/terminals/consumers
 */
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Inbox } from '@deepseek-ai/dsh-agent'
import { Session, SessionId } from '@deepseek-ai/dsh-session'
import { boot, dispose } from '../../examples/boot.js'
import { serverEnvironment, startServer } from '../support/server.js'
import { PATIENCE_MS, until, within } from './world.js'

const FILE = fileURLToPath(new URL('fixtures/terminals.cordis.yml', import.meta.url))

/**
 * Gives the file a harness.
 * @param {object} [shell] the bash backend's configuration instead of the fixture's
 * @returns {Harness}
 */
export function useConsumers(shell) {
  const harness = new Harness(shell)
  before(() => harness.begin())
  after(() => harness.finish())
  return harness
}

class Harness {
  constructor(shell) {
    this.shell = shell
  }

  async begin() {
    this.server = await startServer()
    Object.assign(process.env, serverEnvironment(this.server))
    this.cwd = `/home/user/work-${process.pid}-${Math.random().toString(36).slice(2, 8)}`
    this.ctx = await boot(FILE, [
      { id: 'e2b', config: { cwd: this.cwd } },
      { id: 'policy', config: { mode: 'danger-full-access', workspaceRoot: this.cwd } },
      ...(this.shell === undefined ? [] : [{ id: 'shell', config: this.shell }]),
    ])
    await within(this.ctx.e2b.getSandbox(), PATIENCE_MS, 'the sandbox')
    this.agent = this.register('terminals-test-agent')
  }

  async finish() {
    try {
      if (this.ctx !== undefined) await within(dispose(this.ctx), 2 * PATIENCE_MS, 'disposal of the harness')
    } finally {
      await this.server?.stop()
    }
  }

  /** An agent that owns terminals. */
  register(name) {
    const id = SessionId(name)
    const session = Session.create(id, [], { version: 0, id, createdAt: 0, cwd: this.cwd })
    const scope = this.ctx.plugin(() => {})
    const agent = {
      id,
      options: {},
      session,
      inbox: new Inbox(session, { inserted() {}, discarded() {}, claimed() {} }),
      status: 'idle',
      ctx: scope.ctx,
      send() {},
      followup() {},
      steer: () => ({ outcome: Promise.resolve({ status: 'rejected' }) }),
      inject() {},
      cancel() {},
      runMaintenance: task => task(new AbortController().signal),
      whenIdle: () => Promise.resolve(),
    }
    this.ctx.agents.register(agent)
    return agent
  }

  /** A terminal of the agent's. */
  async open(request = {}) {
    const opened = await within(this.ctx.terminals.spawn(this.agent, { type: 'shell', ...request }), PATIENCE_MS, 'a terminal')
    return new Conversation(this, opened)
  }

  /** Asks the bash tool, as a model does. */
  async bash(command, { signal = new AbortController().signal } = {}) {
    this.calls = (this.calls ?? 0) + 1
    const call = { signal, callId: `call-${this.calls}`, name: 'bash', arguments: { command }, agent: this.agent }
    const result = await within(this.ctx.tools.execute(call), 2 * PATIENCE_MS, `bash: ${command.slice(0, 60)}`)
    return result.content.filter(block => block.type === 'text').map(block => block.text).join('')
  }
}

/** One terminal of the registry. */
class Conversation {
  constructor(harness, opened) {
    this.harness = harness
    this.opened = opened
    this.id = opened.sessionId
  }

  /** Begins to send. */
  start(text, { submit = true, signal } = {}) {
    return this.harness.ctx.terminals.startSend(this.harness.agent, this.id, { text, submit, ...(signal && { signal }) })
  }

  /** Sends and waits until the terminal is ready for more. */
  send(text, options) {
    return within(this.start(text, options).done, PATIENCE_MS, `sending ${JSON.stringify(text.slice(0, 60))}`)
  }

  /** The scrollback. */
  read(request) {
    return this.harness.ctx.terminals.read(this.harness.agent, this.id, request)
  }

  /** Waits until the scrollback matches. */
  shows(pattern) {
    return until(() => this.read({ count: 200 }).text.match(pattern), PATIENCE_MS, `${pattern} in the scrollback`).catch(cause => {
      throw new Error(`${cause.message}; it holds ${JSON.stringify(this.read({ count: 20 }).text.slice(-400))}`, { cause })
    })
  }

  signal(signal) {
    return within(this.harness.ctx.terminals.signal(this.harness.agent, this.id, signal), PATIENCE_MS, signal)
  }

  close() {
    return within(this.harness.ctx.terminals.kill(this.harness.agent, this.id), PATIENCE_MS, 'the end of a terminal')
  }
}
