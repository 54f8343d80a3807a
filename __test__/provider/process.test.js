import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { within } from '../support/deadline.js'
import { PATIENCE_MS, useServer } from './support.js'

const used = useServer()
const fixture = name => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

/** What another process or thread makes the same sandbox' object from. */
const factsOf = ({ sandboxId, envdAccessToken, envdApi }) => ({ sandboxId, envdAccessToken, envdVersion: envdApi.version })

/** Runs a fixture in a Node process of its own. */
function run(name, args, options = {}) {
  return new Promise(resolve => {
    const child = execFile(process.execPath, [fixture(name), ...args], { maxBuffer: 1 << 26, timeout: PATIENCE_MS, ...options },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, signal: child.signalCode, stdout, stderr, at: performance.now() }))
  })
}

test('J1 an idle provider lets Node exit by itself, without disposal', async () => {
  const { sandbox } = await used.load()
  const { code, stdout, stderr } = await run('once.mjs', ['idle', JSON.stringify(factsOf(sandbox))])
  assert.deepEqual([code, stdout], [0, 'ran\n'], stderr)
})

test('a pending outcome keeps Node alive', async () => {
  const { sandbox } = await used.load()
  const { code, stdout, stderr } = await run('once.mjs', ['wait', JSON.stringify(factsOf(sandbox))])
  assert.deepEqual([code, stdout], [5, 'waited\n'], stderr)
})

test('C16 inherited output goes to the harness\' own streams, complete before the outcome', async () => {
  const { sandbox } = await used.load()
  const { code, stdout, stderr } = await run('once.mjs', ['big', JSON.stringify(factsOf(sandbox))])
  const lines = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join('')
  assert.equal(code, 0)
  assert.ok(stdout === `${lines}end\n`)
  assert.ok(stderr.startsWith(lines))
})

test('C84 D5 nothing is printed, unless the log is asked for, and no secret is in it', async () => {
  const { sandbox } = await used.load()
  const quiet = await run('once.mjs', ['idle', JSON.stringify(factsOf(sandbox))])
  assert.match(quiet.stderr, /^end [\d.]+\n$/)
  const { stderr } = await run('once.mjs', ['idle', JSON.stringify(factsOf(sandbox))], { env: { ...process.env, DSH_SUBPROCESS_LOG: 'trace' } })
  assert.match(stderr, /attached/)
  for (const secret of [process.env.E2B_API_KEY, sandbox.envdAccessToken]) {
    assert.ok(secret.length > 5)
    assert.ok(!stderr.includes(secret))
  }
})

test('J3 worker threads load the addon, work and go, while the main thread never loads it', async () => {
  const { sandbox } = await used.load()
  const workers = Array.from({ length: 8 }, (_, number) => new Worker(fixture('worker.mjs'), { workerData: { facts: factsOf(sandbox), busy: false, number } }))
  const results = await within(Promise.all(workers.map(worker => new Promise((resolve, reject) => {
    let said
    worker.once('message', message => { said = message })
    worker.once('error', reject)
    worker.once('exit', code => resolve([said, code]))
  }))), PATIENCE_MS, 'the workers')
  assert.deepEqual(results, results.map(() => ['hello\n', 0]))
})

test('J4 a worker that is torn down in the middle of everything takes nothing with it', async () => {
  const { sandbox } = await used.load()
  for (let round = 0; round < 10; round++) {
    const worker = new Worker(fixture('worker.mjs'), { workerData: { facts: factsOf(sandbox), busy: true, number: `busy-${round}` } })
    await within(new Promise(resolve => worker.once('message', resolve)), PATIENCE_MS, 'a busy worker')
    await new Promise(resolve => setTimeout(resolve, round * 20))
    await within(worker.terminate(), PATIENCE_MS, 'its end')
  }
})
