/**
 * A composition that is loaded from its file under one pair of packages, and what scenarios do with it.
 * @module examples/compositions/world
 */
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { boot, dispose } from '../boot.js'
import { under } from './pairs.js'

/** Nothing in a scenario takes longer than this. */
export const STEP_MS = 60_000

/** Ends what is waited for when it takes too long. */
export async function within(promise, ms, what) {
  const clock = new AbortController()
  try {
    return await Promise.race([promise, pause(ms, undefined, { signal: clock.signal }).then(() => { throw new Error(`${what}: not within ${ms} ms`) })])
  } finally {
    clock.abort()
  }
}

/** Asks until the answer is truthy. */
export async function until(probe, what, ms = STEP_MS / 2) {
  for (const end = performance.now() + ms; ;) {
    const answer = await probe()
    if (answer) return answer
    if (performance.now() > end) throw new Error(`${what}: not within ${ms} ms`)
    await pause(10)
  }
}

/** Directories of this run: the composition's file, and a shared directory that the host has as well. */
export class World {
  /**
   * @param {object} scenario
   * @param {import('./pairs.js').Pair} pair
   */
  constructor(scenario, pair) {
    this.scenario = scenario
    this.pair = pair
    this.ctx = undefined
  }

  /** Writes the composition's file. */
  async prepare() {
    const { file, hostCwd = false } = this.scenario
    this.folder = await mkdtemp(join(tmpdir(), 'composition-'))
    // Some of the harness' packages look at the agent's directory on the host before they start anything in it.
    this.cwd = hostCwd ? await sharedName() : `/home/user/work-${randomBytes(4).toString('hex')}`
    const source = new URL(file, import.meta.url)
    this.file = join(this.folder, file)
    const text = under(await readFile(source, 'utf8'), this.pair).replaceAll('/home/user/workspace', this.cwd)
    await writeFile(this.file, text)
    this.base = source.href
    /** What kept the process before anything was loaded. */
    this.resources = {}
    for (const kind of process.getActiveResourcesInfo()) this.resources[kind] = (this.resources[kind] ?? 0) + 1
  }

  /** Loads the composition; gives its times in ms from the load on. */
  async load() {
    const start = performance.now()
    this.ctx = await within(boot(this.file, [], { base: this.base }), STEP_MS, 'the load')
    const errors = this.errors = []
    this.ctx.logger.error = error => { errors.push(error) }
    await within(this.ctx.e2b.getSandbox(), STEP_MS, 'the sandbox')
    const readyMs = performance.now() - start
    const first = this.spawn(['true'])
    await within(first.done, STEP_MS, 'the first command')
    return { readyMs, firstMs: performance.now() - start }
  }

  /** The agent that the composition's loop runs. */
  async agent() {
    return until(() => this.ctx.agents.roots()[0], 'the agent')
  }

  /** Starts a command in the shared directory, outputs collected. */
  spawn(argv, options = {}) {
    const { stdin = 'ignore', stdout = { maxBytes: 65_536 }, stderr = { maxBytes: 65_536 }, ...rest } = options
    return this.ctx.subprocess.spawn({ argv, cwd: this.cwd, graceMs: 2000, stdio: { stdin, stdout, stderr }, ...rest })
  }

  /** Runs a shell line to its end; gives what it said. */
  async sh(line) {
    const handle = this.spawn(['sh', '-c', line])
    const { exitCode } = await within(handle.done, STEP_MS, line)
    const { text } = handle.collected.stdout.readFrom(0)
    if (exitCode !== 0) throw new Error(`${line}: exit ${exitCode}: ${text}${handle.collected.stderr.readFrom(0).text}`)
    return text
  }

  /** Asks a tool as the agent's model does; gives its text. */
  async tool(name, args, signal = new AbortController().signal) {
    this.calls = (this.calls ?? 0) + 1
    const call = { signal, callId: `call-${this.calls}`, name, arguments: args, agent: await this.agent() }
    const { content, isError } = await within(this.ctx.tools.execute(call), STEP_MS, `the tool ${name}`)
    const text = content.filter(block => block.type === 'text').map(block => block.text).join('')
    return isError ? `error: ${text}` : text
  }

  /** Puts a file of the host into the sandbox. */
  async deliver(source, path, mode = '644') {
    const sandbox = await this.ctx.e2b.getSandbox()
    const bytes = source instanceof URL ? await readFile(fileURLToPath(source)) : source
    await sandbox.files.write(path, new Blob([bytes]))
    await sandbox.commands.run(`chmod ${mode} '${path}'`)
  }

  /** Tears the composition down, whatever happened before; what its plugins failed with in the background is thrown. */
  async dispose() {
    const { ctx, errors = [] } = this
    this.ctx = this.errors = undefined
    try {
      if (ctx !== undefined) await within(dispose(ctx), STEP_MS, 'the disposal')
      if (errors.length > 0) throw new AggregateError(errors, errors.map(String).join('; '))
    } finally {
      for (const folder of [this.folder, this.scenario.hostCwd && this.cwd].filter(Boolean)) await rm(folder, { recursive: true, force: true })
    }
  }
}

/** A directory of the host whose name is free in a sandbox; writable for a sandbox that has the host's files. */
async function sharedName() {
  const path = await mkdtemp(join(tmpdir(), 'workspace-'))
  await chmod(path, 0o777)
  return path
}
