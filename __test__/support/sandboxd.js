/**
 * Where the development server's binary is, and how it is started.
 * @module test/support/sandboxd
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { within } from './deadline.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const STARTUP_MS = 15_000
const STDERR_TAIL = 64 * 1024

/**
 * The built `sandboxd`: `DSH_TEST_SANDBOXD`, else where the build script puts it, else where cargo does.
 * @returns {string} a path; throws with the places that were looked at when there is none
 */
export function findSandboxd() {
  const target = process.env.CARGO_TARGET_DIR ?? join(root, 'target')
  const places = [
    process.env.DSH_TEST_SANDBOXD,
    join(root, 'npm', `${process.platform}-${process.arch}`, 'sandboxd'),
    join(target, 'release', 'sandboxd'),
    join(target, 'debug', 'sandboxd'),
  ].filter(place => place !== undefined)
  const found = places.find(place => existsSync(place))
  if (found === undefined) throw new Error(`no sandboxd; build it with \`npm run build\` (looked at ${places.join(', ')})`)
  return found
}

/**
 * Starts a `sandboxd serve` of its own that ends with this process.
 * @param {string[]} [args] further arguments
 * @returns {Promise<import('./server.js').Server>}
 */
export async function startSandboxd(args = []) {
  const apiKey = `e2b_${randomBytes(16).toString('hex')}`
  const child = spawn(findSandboxd(), ['serve', '--exit-with-parent', ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  const log = tail(child.stderr)
  const exited = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve({ code, signal }))
  })
  const line = new Promise(resolve => createInterface(child.stdout).once('line', resolve))
  const died = exited.then(how => { throw new Error(`sandboxd ended: ${JSON.stringify(how)}\n${log()}`) })
  died.catch(() => {})
  let ready
  try {
    ready = JSON.parse(await within(Promise.race([line, died]), STARTUP_MS, 'sandboxd ready line'))
  } catch (cause) {
    child.kill('SIGKILL')
    throw cause
  }
  return {
    kind: 'sandboxd',
    apiUrl: ready.apiUrl,
    sandboxUrl: ready.sandboxUrl,
    apiKey,
    pid: child.pid,
    log,
    async stop() {
      child.stdin.end()
      await within(exited, STARTUP_MS, 'sandboxd end')
    },
  }
}

/** Keeps the end of a stream for error messages. */
function tail(stream) {
  let text = ''
  stream.setEncoding('utf8').on('data', chunk => { text = (text + chunk).slice(-STDERR_TAIL) })
  return () => text
}
