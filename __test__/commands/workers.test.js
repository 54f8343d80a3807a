import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHarness } from './harness.js'
import { EXTENDED, unless, useWorld } from './world.js'

const world = useWorld()
const MIB = 1024 * 1024
const HERE = new URL('world.js', import.meta.url).href
const MS = EXTENDED ? 600_000 : 200_000
const options = { skip: unless('native'), timeout: MS + 20_000 }

// https://github.com/napi-rs/napi-rs/issues/3443
test('C64 worker threads that load the addon, run and end leave a clean exit (trap J3)', options, async () => {
  const { code, signal, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const body = `
      const { workerData } = require('node:worker_threads')
      import(workerData.words).then(async words => {
        const world = new words.World()
        world.server = workerData.server
        await world.open()
        const outcomes = await Promise.all([3, 4, 5].map(code => world.sh('exit ' + code)))
        if (outcomes.some(({ exitCode }, at) => exitCode !== at + 3)) throw new Error('wrong outcome')
        await world.composition.dispose()
      })`
    for (let round = 0; round < Number(process.env.ROUNDS); round += 1) {
      const workers = Array.from({ length: 4 }, () => new lib.Worker(body, { eval: true, workerData: { words: process.env.HERE, server: { ...world.server } } }))
      const codes = await Promise.all(workers.map(worker => new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject))))
      process.stdout.write(`${codes}\n`)
    }
  }, { lazy: true, env: { ROUNDS: EXTENDED ? '50' : '1', HERE }, ms: MS })
  assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr)
  assert.ok(stdout.trim().split('\n').every(line => line === '0,0,0,0'), stdout)
})

// https://github.com/napi-rs/napi-rs/pull/3404, https://github.com/napi-rs/napi-rs/issues/1514
test('C64 a worker that is terminated in the middle of everything ends nothing else and leaves nothing here (traps J4, J5)', options, async () => {
  const { code, signal, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const body = `
      const { workerData, parentPort } = require('node:worker_threads')
      import(workerData.words).then(async words => {
        const world = new words.World()
        world.server = workerData.server
        await world.open()
        for (let at = 0; at < 10; at += 1) {
          world.spawn(['sh', '-c', 'yes'], { stdout: 'pipe' }).stdout.on('data', () => {})
          world.subprocess.resolveExecutable('sh').catch(() => {})
          world.spawn(['true'])
        }
        parentPort.postMessage((await world.composition.sandbox()).sandboxId)
      })`
    const { readdirSync } = await import('node:fs')
    const held = () => ({ descriptors: readdirSync('/proc/self/fd').length, rss: process.memoryUsage.rss() })
    const round = async at => {
      const worker = new lib.Worker(body, { eval: true, workerData: { words: process.env.HERE, server: { ...world.server } } })
      const sandboxId = await lib.within(new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject)), 60_000, 'a busy worker')
      await new Promise(go => setTimeout(go, (at * 37) % 200))
      await worker.terminate()
      return sandboxId
    }
    // The first ones load what all share. What a worker leaves in its sandbox is the sandbox' until its end.
    const sandboxes = [await round(0), await round(1)]
    const before = held()
    for (let at = 2; at < 2 + Number(process.env.ROUNDS); at += 1) {
      sandboxes.push(await round(at))
      await lib.Sandbox.kill(sandboxes.shift())
    }
    await lib.until(() => held().descriptors <= before.descriptors + 6, 30_000, 'descriptors as before').catch(() => {})
    const after = held()
    const { exitCode } = await world.sh('exit 6')
    process.stdout.write(JSON.stringify({ exitCode, descriptors: after.descriptors - before.descriptors, rss: after.rss - before.rss }))
    await world.composition.dispose()
  }, { env: { ROUNDS: EXTENDED ? '100' : '5', HERE }, ms: MS })
  assert.deepEqual({ code, signal }, { code: 0, signal: null }, stderr)
  const { exitCode, descriptors, rss } = JSON.parse(stdout)
  assert.equal(exitCode, 6)
  assert.ok(descriptors <= 6, `${descriptors} descriptors more than before`)
  assert.ok(rss < 200 * MIB, `${rss / MIB} MiB more than before`)
})
