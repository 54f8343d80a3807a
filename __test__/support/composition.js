/**
 * Loads the example compositions for a test and gives what consumers use.
 * @module test/support/composition
 */
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { boot, dispose } from '../../examples/boot.js'
import { within } from './deadline.js'
import { serverEnvironment } from './server.js'

const DISPOSE_MS = 60_000

/** Composition files by provider. */
export const FILES = {
  native: fileURLToPath(new URL('../../examples/native.cordis.yml', import.meta.url)),
  ts: fileURLToPath(new URL('../../examples/original.cordis.yml', import.meta.url)),
}

/**
 * Boots a composition against `server`. The SDK reads the server from the process environment, so one process
 * drives one server at a time.
 * @param {import('./server.js').Server} server
 * @param {object} [options]
 * @param {'native' | 'ts'} [options.provider]
 * @param {object} [options.config] our own configuration keys of the subprocess row
 * @param {object} [options.owner] configuration keys of the owner row besides `cwd`
 * @param {object[]} [options.patches] further loader patches
 * @param {string} [options.cwd] the shared directory; default: one of its own, as servers may share a file system
 * @returns {Promise<Composition>}
 */
export async function compose(server, { provider = 'native', config = {}, owner = {}, patches = [], cwd = freshCwd() } = {}) {
  Object.assign(process.env, serverEnvironment(server))
  const ctx = await boot(FILES[provider], [
    { id: 'e2b', config: { cwd, ...owner } },
    { id: 'bash', config: { cwd } },
    { id: 'subprocess', config },
    ...patches,
  ])
  let ended
  return {
    ctx,
    cwd,
    subprocess: ctx.subprocess,
    shell: ctx.shell,
    run: (command, request = {}) => ctx.shell.run(ctx.shell.resolve({ command, ...request })),
    start: (command, request = {}) => ctx.shell.start(ctx.shell.resolve({ command, ...request })),
    sandbox: () => ctx.e2b.getSandbox(),
    dispose: () => (ended ??= within(dispose(ctx), DISPOSE_MS, 'disposal of the composition')),
  }
}

/** A directory name below the sandbox user's home that no other test uses. */
function freshCwd() {
  return `/home/user/work-${randomBytes(4).toString('hex')}`
}

/**
 * @typedef {object} Composition
 * @property {import('@deepseek-ai/cordis').Context} ctx
 * @property {string} cwd
 * @property {any} subprocess `ctx.subprocess`
 * @property {any} shell the original bash executor, `ctx.shell`
 * @property {(command: string, request?: object) => Promise<any>} run a foreground command through bash
 * @property {(command: string, request?: object) => any} start a background command through bash
 * @property {() => Promise<import('e2b').Sandbox>} sandbox
 * @property {() => Promise<void>} dispose with a deadline; may be called again
 */
