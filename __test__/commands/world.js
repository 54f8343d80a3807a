/**
 * What the behaviour tests of commands share: one server and one composition a file, and short words for the seam.
 *
 * `DSH_TEST_PROVIDER` chooses whose provider is asked: `native` (default) or `ts`, the original. Where the tests run is
 * chosen by support/server.js.
 * @module test/commands/world
 */
import { after, before, test } from 'node:test'
import { compose } from '../support/composition.js'
import { until, within } from '../support/deadline.js'
import { startServer } from '../support/server.js'

/** Whose provider is tested. */
export const PROVIDER = process.env.DSH_TEST_PROVIDER ?? 'native'
/** Nothing that works takes longer than this, on a busy machine either. */
export const PATIENCE_MS = 30_000
/** What happens at once has happened by then, on the busiest machine too; what would be waited for instead takes minutes. */
export const SOON_MS = 15_000
/** The longer, rarer forms of some tests. */
export const EXTENDED = process.env.DSH_TEST_EXTENDED === '1'
/** A sandbox outlives the file that it is for, however long that takes. */
const OWNER = { timeoutMs: 3_600_000 }
/** The grace of commands that do not choose one. */
export const GRACE_MS = 2_000

const TAIL = { maxBytes: 1024 * 1024 }

/**
 * A behaviour that every provider of the seam should have; what the original lacks is listed by the run.
 * @param {string} title
 * @param {object | (() => unknown)} options of node's runner, or the body
 * @param {(t: import('node:test').TestContext) => unknown} [body]
 */
export function matrix(title, options, body) {
  if (body === undefined) return test(title, { timeout: 2 * PATIENCE_MS }, options)
  return test(title, { timeout: 2 * PATIENCE_MS, ...options }, body)
}

/**
 * Where a control cannot run: it needs our own provider, or our own server.
 * @param {'native' | 'sandboxd'} what
 * @returns {string | false} a reason for node's `skip`
 */
export function unless(what) {
  if (what === 'native') return PROVIDER !== 'native' && 'about our own provider'
  return process.env.DSH_TEST_E2B_API_URL !== undefined && 'needs a sandboxd of its own'
}

/**
 * Gives the file its server and composition, made before its tests and ended after them.
 * @param {object} [options]
 * @param {string[]} [options.args] for sandboxd
 * @param {object} [options.config] our own configuration keys; the original does not get them
 * @param {(world: World) => unknown} [options.prepare] what else the tests need in the sandbox
 * @returns {World}
 */
export function useWorld({ args = [], config = {}, prepare = () => {} } = {}) {
  const world = new World()
  before(async () => {
    world.server = await startServer(args)
    await world.open(config)
    await prepare(world)
  })
  after(async () => {
    try {
      await world.composition?.dispose()
    } finally {
      await world.server?.stop()
    }
  })
  return world
}

/**
 * Another composition at a server.
 * @param {import('../support/server.js').Server} server
 * @param {object} [config]
 */
export function composeAt(server, config = {}) {
  return compose(server, { provider: PROVIDER, config: PROVIDER === 'native' ? config : {}, owner: OWNER })
}

/** One composition, and how the tests speak to it. */
export class World {
  /** @type {import('../support/server.js').Server} */ server
  /** @type {import('../support/composition.js').Composition} */ composition
  /** @type {any} */ subprocess
  /** @type {unknown[]} */ errors = []

  get cwd() {
    return this.composition.cwd
  }

  /**
   * Composes at `server`, and waits until the supervisor is there: what a command costs then is what the tests are about.
   * @param {object} [config]
   */
  async open(config) {
    this.composition = await composeAt(this.server, config)
    this.subprocess = this.composition.subprocess
    await within(this.composition.sandbox(), PATIENCE_MS, 'the sandbox')
    const { exitCode } = await this.run(['true'])
    if (exitCode !== 0) throw new Error(`true exits ${exitCode}`)
    return this
  }

  /** Another composition at the same server, in a sandbox of its own. What its disposal fails with is in `errors`. */
  async another(config) {
    const other = new World()
    other.server = this.server
    await other.open(config)
    // Cordis gives what a disposal throws to the logger.
    other.composition.ctx.logger.error = error => other.errors.push(error)
    return other
  }

  /** Ends the provider alone; the owner and its sandbox stay. */
  async endProvider() {
    const entry = [...this.composition.ctx.loader.entries()].find(({ options }) => options.id === 'subprocess')
    await within(entry.fiber.dispose(), 2 * PATIENCE_MS, 'disposal of the provider')
  }

  /**
   * Starts a command: input ignored and both outputs collected unless `options` says otherwise.
   * @param {string[]} argv
   * @param {object} [options] `stdin`, `stdout`, `stderr` of the spec's stdio; else keys of the spec
   */
  spawn(argv, { stdin = 'ignore', stdout = TAIL, stderr = TAIL, ...spec } = {}) {
    return this.subprocess.spawn({ argv, cwd: this.cwd, graceMs: GRACE_MS, stdio: { stdin, stdout, stderr }, ...spec })
  }

  /**
   * Runs a command to its outcome.
   * @returns {Promise<{ exitCode: number | null, signal: string | null, stdout: string, stderr: string }>}
   */
  async run(argv, options) {
    const handle = this.spawn(argv, options)
    const outcome = await settled(handle, argv.join(' ').slice(0, 80))
    return { ...outcome, stdout: text(handle, 'stdout'), stderr: text(handle, 'stderr') }
  }

  /** Runs a line of `sh`. */
  sh(script, options) {
    return this.run(['sh', '-c', script], options)
  }

  /**
   * What an independent witness sees in the sandbox: a line of bash by the vendor's SDK, past the provider.
   * @param {string} script
   * @param {{ user?: string }} [options]
   * @returns {Promise<string>} its output; a failure of the line is its output so far
   */
  async witness(script, { user = 'user' } = {}) {
    const sandbox = await this.composition.sandbox()
    const result = await sandbox.commands.run(script, { user }).catch(error => {
      if (typeof error.exitCode !== 'number') throw error
      return error
    })
    return result.stdout
  }

  /**
   * How many processes live whose command line holds `sleep MARK`.
   * @param {string} mark of {@link mark}
   */
  async sleepers(mark) {
    const found = await this.witness(`for p in $(pgrep -f '^sleep ${mark}'); do grep -l '^State:.[^Z]' /proc/$p/status; done 2>/dev/null | wc -l`, { user: 'root' })
    return Number(found)
  }

  /** Waits until exactly `count` processes sleep under a mark. */
  untilSleepers(mark, count) {
    return until(async () => (await this.sleepers(mark)) === count, PATIENCE_MS, `${count} sleepers ${mark}`, 30)
  }

  /** Waits until at least `count` processes sleep under a mark. */
  untilSleepersAtLeast(mark, count) {
    return until(async () => (await this.sleepers(mark)) >= count, PATIENCE_MS, `${count} sleepers ${mark} or more`, 30)
  }

  /** Waits until the witness' line prints exactly `expected`, white space around it aside. */
  untilWitness(script, expected) {
    return until(async () => (await this.witness(script, { user: 'root' })).trim() === expected, PATIENCE_MS, `${script} printing ${expected}`, 30)
  }
}

let marks = 0

/** A number that only one test gives to `sleep`, as long as no test lasts. */
export function mark() {
  marks += 1
  return `600.${process.pid}${String(marks).padStart(4, '0')}`
}

/**
 * Waits for an outcome with a deadline.
 * @param {{ done: Promise<any> }} handle
 * @param {string} [what]
 * @param {number} [ms]
 */
export function settled(handle, what = 'the command', ms = PATIENCE_MS) {
  return within(handle.done, ms, `outcome of ${what}`)
}

/**
 * Waits for the end of a tree with a deadline.
 * @param {{ waitForExit: () => Promise<boolean> }} handle
 */
export function gone(handle, ms = PATIENCE_MS) {
  return within(handle.waitForExit(), ms, 'the end of the tree')
}

/** Ends a command for sure, whatever state a test left it in. */
export async function end(handle) {
  handle.terminate()
  await gone(handle)
  await settled(handle).catch(() => {})
}

/** The whole collected text so far; empty when the stream is not collected. */
export function text(handle, name = 'stdout') {
  return handle.collected[name]?.readFrom(0).text ?? ''
}

/** Waits until the collected text matches. */
export function says(handle, pattern, name = 'stdout') {
  return until(() => text(handle, name).match(pattern), PATIENCE_MS, `${name} matching ${pattern} (so far ${JSON.stringify(text(handle, name).slice(-200))})`)
}

/**
 * Does the same for each item, `width` of them at a time: the original would need a request storm for more.
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => Promise<unknown>} body
 * @param {number} [width]
 */
export async function forAll(items, body, width = 16) {
  const queue = [...items]
  await Promise.all(Array.from({ length: width }, async () => {
    while (queue.length > 0) await body(queue.shift())
  }))
}

/** Everything that a raw stream gives, to its end. */
export async function drain(stream, what = 'a raw stream') {
  const chunks = []
  stream.on('data', chunk => chunks.push(chunk))
  await within(new Promise((resolve, reject) => stream.once('end', resolve).once('error', reject)), PATIENCE_MS, `end of ${what}`)
  return Buffer.concat(chunks)
}

/** What a promise rejects with; fails when it does not. */
export async function rejection(promise, what = 'the promise', ms = PATIENCE_MS) {
  let value
  try {
    value = await within(promise, ms, what)
  } catch (error) {
    return error
  }
  throw new Error(`${what} did not reject: ${JSON.stringify(value)}`)
}
