/**
 * The three things that are compared, behind one face: a perfect client without a supervisor (`bare`), the original
 * provider (`ts`) and ours (`native`), the last two under the same original owner.
 * @module bench/subject
 */
import { compose } from '../__test__/support/composition.js'
import { until } from '../__test__/support/deadline.js'
import { BareSandbox } from './bare/sandbox.js'

const LIFETIME_MS = 3_600_000
const GRACE_MS = 2_000
const PID_MS = 60_000
const TAIL = 64 * 1024
const BLOCK = Buffer.alloc(64 * 1024, 'x')

/**
 * @typedef {object} Running
 * @property {Promise<number>} started ms from the call to a known process id
 * @property {Promise<void>} done rejects when the exit code is not 0
 * @property {() => void} stop
 */

/**
 * @typedef {object} Subject
 * @property {(argv: string[]) => Promise<void>} collect runs a program, its output kept in a bounded tail
 * @property {(argv: string[]) => Running} start
 * @property {(argv: string[], data?: (bytes: number) => void) => { done: Promise<void>, stop: () => void }} pipe raw output
 * @property {(argv: string[], total: number) => Promise<void>} feed writes `total` bytes to a program's stdin
 * @property {any} [composition] of a provider
 * @property {() => Promise<void>} close
 */

/**
 * @param {'bare' | 'ts' | 'native'} name
 * @param {import('../__test__/support/server.js').Server} server
 * @returns {Promise<Subject>} ready: its sandbox exists and, for `bare`, a connection is warm
 */
export async function openSubject(name, server) {
  return name === 'bare' ? bare(server) : seam(name, server)
}

async function bare(server) {
  const sandbox = await BareSandbox.create(server)
  await run(['true'])
  async function run(argv, options) {
    const code = await sandbox.start(argv, options)
    if (code !== 0) throw new Error(`${argv[0]} exited with ${code}`)
  }
  // There is no stop: the sandbox is deleted at the end.
  const stop = () => {}
  return {
    collect: argv => run(argv),
    pipe: (argv, data) => ({ done: run(argv, { data }), stop }),
    start(argv) {
      const at = performance.now()
      let began
      const started = new Promise(resolve => { began = () => resolve(performance.now() - at) })
      const done = run(argv, { started: began })
      done.catch(() => {})
      return { started, done, stop }
    },
    async feed(argv, total) {
      let began
      const started = new Promise(resolve => { began = resolve })
      const done = run(argv, { stdin: true, started: began })
      await sandbox.stream(await Promise.race([started, done]), total, BLOCK)
      await done
    },
    close: () => sandbox.close(),
  }
}

async function seam(provider, server) {
  const composition = await compose(server, { provider, owner: { timeoutMs: LIFETIME_MS } })
  await composition.sandbox()
  const { subprocess, cwd } = composition
  const spawn = (argv, stdio) => subprocess.spawn({
    argv, cwd, graceMs: GRACE_MS, env: {}, stdio: { stdin: 'ignore', stdout: { maxBytes: TAIL }, stderr: { maxBytes: TAIL }, ...stdio },
  })
  const succeeded = async handle => {
    const { exitCode, signal } = await handle.done
    if (exitCode !== 0) throw new Error(`exit ${exitCode}, signal ${signal}: ${handle.collected.stderr?.readFrom(0).text}`)
  }
  return {
    composition,
    collect: argv => succeeded(spawn(argv)),
    pipe(argv, data = () => {}) {
      const handle = spawn(argv, { stdout: 'pipe' })
      handle.stdout.on('data', bytes => data(bytes.length))
      return { done: succeeded(handle), stop: () => handle.terminate() }
    },
    start(argv) {
      const at = performance.now()
      const handle = spawn(argv)
      const done = succeeded(handle)
      done.catch(() => {})
      const started = positivePid(handle).then(() => performance.now() - at)
      return { started, done, stop: () => handle.terminate() }
    },
    async feed(argv, total) {
      const handle = spawn(argv, { stdin: 'pipe' })
      for (let sent = 0; sent < total; sent += BLOCK.length) {
        if (!handle.stdin.write(BLOCK)) await new Promise(resolve => handle.stdin.once('drain', resolve))
      }
      handle.stdin.end()
      await succeeded(handle)
    },
    close: () => composition.dispose(),
  }
}

async function positivePid(handle) {
  if (handle.pid > 0) return
  await until(() => handle.pid > 0, PID_MS, 'a process id', 0.1)
}
