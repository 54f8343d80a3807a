/**
 * What the local provider's tests share.
 * @module test/local/support
 */
import { execFile } from 'node:child_process'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { after, before } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Context } from '@deepseek-ai/cordis'
import Provider from '../../local.js'
import { until, within } from '../support/deadline.js'

/** Nothing here takes longer than this. */
export const PATIENCE_MS = 30_000

/** Bounded tails as most tests want them. */
export const COLLECT = { maxBytes: 64 * 1024 }

/**
 * A provider for the tests of this file.
 * @returns {World} loaded before the first test
 */
export function useWorld() {
  const world = new World()
  before(() => world.load())
  after(() => world.dispose())
  return world
}

/** A composition of the provider alone. */
export class World {
  /** Loads the provider in a context of its own. */
  async load() {
    this.ctx = new Context()
    this.errors = []
    this.ctx.logger.error = error => { this.errors.push(error) }
    this.fiber = await this.ctx.plugin(Provider)
    this.subprocess = this.ctx.subprocess
    return this
  }

  /** Starts a command with collected outputs. */
  spawn(argv, options = {}) {
    const { stdin = 'ignore', stdout = COLLECT, stderr = COLLECT, ...rest } = options
    return this.subprocess.spawn({ argv, cwd: '/tmp', stdio: { stdin, stdout, stderr }, graceMs: 2000, ...rest })
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

  /** Starts a shell line and waits for the line that it prints first. */
  async announced(line, options) {
    const handle = this.spawn(['bash', '-c', line], options)
    await until(() => handle.collected.stdout.readFrom(0).text.includes('\n'), PATIENCE_MS, `the first words of ${line}`)
    return { handle, text: handle.collected.stdout.readFrom(0).text.trim() }
  }

  /** Opens a terminal. */
  terminal(argv, options = {}) {
    return within(
      this.subprocess.spawnTerminal({ argv, cwd: '/tmp', rows: 24, cols: 80, graceMs: 500, ...options }),
      PATIENCE_MS,
      'the terminal',
    )
  }

  /** Ends the provider. */
  dispose() {
    return within(this.fiber.dispose(), PATIENCE_MS, 'disposal')
  }
}

/**
 * Whether a process runs: a zombie does not.
 * @param {number} pid
 */
export function isAlive(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))
  } catch {
    return false
  }
}

/** What a look into `/proc` gives; nothing, when what is looked at has gone meanwhile. */
function unlessGone(look) {
  try {
    return look()
  } catch {
    return ''
  }
}

/**
 * The process beside a host that ends what the host leaves.
 * @param {number} host
 * @returns {number | undefined}
 */
export function guardOf(host) {
  const read = path => unlessGone(() => readFileSync(`/proc/${path}`, 'utf8'))
  const children = readdirSync(`/proc/${host}/task`).flatMap(task => read(`${host}/task/${task}/children`).trim().split(' '))
  const guard = children.find(pid => pid !== '' && read(`${pid}/cmdline`).split('\0')[1] === 'guard')
  return guard === undefined ? undefined : Number(guard)
}

/**
 * How many sessions the process beside a host holds.
 * @param {number} host
 */
export function guarded(host) {
  const guard = guardOf(host)
  if (guard === undefined) return 0
  return readdirSync(`/proc/${guard}/fd`).filter(fd => unlessGone(() => readlinkSync(`/proc/${guard}/fd/${fd}`)).includes('pidfd')).length
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

/**
 * Starts one of the hosts in `fixtures/`.
 * @param {string} name
 * @param {string[]} args
 * @returns {{ pid: number, process: import('node:child_process').ChildProcess, over: Promise<{ code: number | null, signal: string | null, stdout: string, stderr: string }> }}
 */
export function host(name, ...args) {
  const file = fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))
  let child
  const over = new Promise(resolve => {
    child = execFile(process.execPath, [file, ...args], { timeout: PATIENCE_MS, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr })
    })
  })
  return { pid: child.pid, process: child, over }
}
