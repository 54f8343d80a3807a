/**
 * What the behaviour tests of terminals share: one server and one composition a file, and a screen for each terminal.
 * @module test/terminals/world
 */
import { PATIENCE_MS, rejection, useWorld } from '../commands/world.js'
import { until, within } from '../support/deadline.js'

export { EXTENDED, GRACE_MS, PATIENCE_MS, PROVIDER, mark, matrix, rejection, unless } from '../commands/world.js'
export { useWorld, until, within }

/** An interactive shell without anybody's start-up files. */
export const SHELL = ['bash', '--norc', '--noprofile', '-i']
/** The prompt that the tests give it, and the kind of terminal. */
export const SHELL_ENV = { PS1: 'ready> ', TERM: 'dumb', INPUTRC: '/dev/null', HISTFILE: undefined }

/**
 * Opens a terminal.
 * @param {import('../commands/world.js').World} world
 * @param {string[]} argv
 * @param {object} [spec] further keys of the spec; `unread: true` leaves its output alone
 * @returns {Promise<Screen>}
 */
export async function open(world, argv, { unread = false, ...spec } = {}) {
  const opening = world.subprocess.spawnTerminal({ argv, cwd: world.cwd, rows: 24, cols: 80, graceMs: 200, ...spec })
  const screen = new Screen(await within(opening, PATIENCE_MS, `a terminal for ${argv[0]}`))
  if (!unread) screen.read()
  return screen
}

/**
 * Opens a shell and waits until it reads.
 * @returns {Promise<Screen>}
 */
export async function openShell(world, { env, ...spec } = {}) {
  const screen = await open(world, SHELL, { env: { ...SHELL_ENV, ...env }, ...spec })
  await screen.shows('ready> ')
  await screen.waits()
  return screen
}

/** A terminal and everything that it has shown. */
export class Screen {
  /** @param {any} terminal a handle of the seam */
  constructor(terminal) {
    this.terminal = terminal
    this.chunks = []
    this.text = ''
    this.ended = false
  }

  get pid() {
    return this.terminal.pid
  }

  /** Begins to read the output; it is kept. */
  read() {
    const decoder = new TextDecoder()
    this.terminal.output.on('data', chunk => {
      this.chunks.push(chunk)
      this.text += decoder.decode(chunk, { stream: true })
    })
    this.end = new Promise((resolve, reject) => this.terminal.output.once('end', resolve).once('error', reject))
    this.end.then(() => { this.ended = true }, error => { this.failure = error })
    return this
  }

  /** All bytes, when there are no more. */
  async bytes() {
    await within(this.end, PATIENCE_MS, 'the end of the output')
    return Buffer.concat(this.chunks)
  }

  /** Types text. */
  type(text) {
    return within(this.terminal.write(text), PATIENCE_MS, `typing ${JSON.stringify(text.slice(0, 40))}`)
  }

  /**
   * Waits until what came since `from` holds the text or matches the pattern.
   * @param {string | RegExp} wanted
   * @param {number} [from] offset in `text`
   */
  shows(wanted, from = 0) {
    const found = () => {
      const text = this.text.slice(from)
      return typeof wanted === 'string' ? text.includes(wanted) && [wanted] : text.match(wanted)
    }
    return until(() => found() ?? undefined, PATIENCE_MS, `${wanted} on the terminal`, 2).catch(cause => {
      throw new Error(`${cause.message}; the terminal shows ${JSON.stringify(this.text.slice(from).slice(-300))}`, { cause })
    })
  }

  /** Types a line and waits until the terminal shows something after it. */
  async ask(line, wanted) {
    const from = this.text.length
    await this.type(`${line}\r`)
    return this.shows(wanted, from)
  }

  /** Who is in front. */
  front() {
    return within(this.terminal.inspectForeground(), PATIENCE_MS, 'who is in front')
  }

  /** Waits until who is in front waits for input; gives the group. */
  waits(group = () => true) {
    return this.frontIs(front => front.inputWaiting && group(front.processGroupId), 'a program that waits')
  }

  /** Waits until another group than the program's own is in front; gives it. */
  job() {
    return this.frontIs(front => front.processGroupId !== this.pid, 'a job in front')
  }

  /** Waits until what is in front satisfies a condition. */
  async frontIs(condition, what) {
    let last
    try {
      return await until(async () => {
        last = await this.front()
        return last !== undefined && condition(last) && last
      }, PATIENCE_MS, what, 5)
    } catch (cause) {
      throw new Error(`${cause.message}: in front ${JSON.stringify(last)}, shown ${JSON.stringify(this.text.slice(-300))}`, { cause })
    }
  }

  /** Its outcome. */
  done() {
    return within(this.terminal.done, PATIENCE_MS, 'the outcome of a terminal')
  }

  /** Ends it, whatever a test left in it. */
  async close() {
    await within(this.terminal.terminate(), PATIENCE_MS, 'the end of a terminal')
    return this
  }
}

/**
 * What opening a terminal rejects with.
 * @param {import('../commands/world.js').World} world
 */
export function refusal(world, argv, spec = {}) {
  const opening = world.subprocess.spawnTerminal({ argv, cwd: world.cwd, rows: 24, cols: 80, graceMs: 200, ...spec })
  return rejection(opening, `a terminal for ${argv[0]}`)
}

/** How many terminals the supervisor of `world` has open: `/dev/pts` would show those of other sandboxes where it is shared. */
export async function countTerminals(world) {
  const script = 'for p in $(pgrep -f "supervisor.* join .*"); do ls -l /proc/$p/fd; done 2>/dev/null | grep -c "/dev/ptmx\\|/dev/pts/ptmx" || true'
  return Number(await world.witness(script, { user: 'root' }))
}

/** Waits until there are exactly `count` terminals in the sandbox: an end is told a moment before its descriptors go. */
export async function untilTerminals(world, count) {
  let last
  await until(async () => (last = await countTerminals(world)) === count, PATIENCE_MS, `${count} terminals`, 20)
    .catch(cause => { throw new Error(`there are ${last} terminals, not ${count}`, { cause }) })
}

/**
 * Clock ticks of processor time that the supervisor of `world` has used, all of its processes together.
 * @returns {Promise<number>} in milliseconds
 */
export async function supervisorCpuMs(world) {
  const script = 'for p in $(pgrep -f "supervisor.* join .*"); do cat /proc/$p/stat 2>/dev/null; done'
  const lines = (await world.witness(script, { user: 'root' })).trim().split('\n')
  const ticks = lines.map(line => line.slice(line.lastIndexOf(')') + 2).split(' ')).map(fields => Number(fields[11]) + Number(fields[12]))
  return ticks.reduce((sum, value) => sum + value, 0) * 10
}
