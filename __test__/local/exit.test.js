import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { Context } from '@deepseek-ai/cordis'
import Provider from '../../local.js'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, guarded, host, isAlive } from './support.js'

/** A host that has said who its processes are. */
async function running(way) {
  const started = host('host.mjs', way)
  const pids = await within(new Promise(resolve => started.process.stdout.once('data', line => resolve(JSON.parse(line)))), PATIENCE_MS, 'the host')
  assert.deepEqual(pids.filter(pid => !isAlive(pid)), [])
  return { ...started, pids }
}

for (const [way, code, said] of [['exit', 23, ''], ['throw', 1, 'a failure of the host'], ['reject', 1, 'a rejection in the host']]) {
  test(`C73 trees and terminals that ignore polite signals are gone after ${way}, and the exit code is the host's`, async () => {
    const started = await running(way)
    started.process.stdin.write('go\n')
    const outcome = await started.over
    assert.deepEqual([outcome.code, outcome.signal], [code, null])
    assert.ok(outcome.stderr.includes(said))
    // SIGKILL was sent before the exit; only the kernel's own work is waited for.
    await until(() => !started.pids.some(isAlive), 2000, 'their end')
  })
}

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGABRT']) {
  test(`C75 they are gone too after a ${signal} that Node has no event for`, async () => {
    const started = await running('wait')
    await until(() => guarded(started.pid) >= 2, PATIENCE_MS, 'a guard that knows both sessions')
    process.kill(started.pid, signal)
    assert.equal((await started.over).signal, signal)
    await until(() => !started.pids.some(isAlive), PATIENCE_MS, 'their end')
  })
}

test('D24 there is one exit listener a service, before the others, until its disposal', async () => {
  const before = process.listeners('exit')
  const prior = () => {}
  process.on('exit', prior)
  const fiber = await new Context().plugin(Provider)
  const added = process.listeners('exit').filter(listener => listener !== prior && !before.includes(listener))
  assert.equal(added.length, 1)
  assert.ok(process.listeners('exit').indexOf(added[0]) < process.listeners('exit').indexOf(prior))
  await fiber.dispose()
  assert.ok(!process.listeners('exit').includes(added[0]))
  process.off('exit', prior)
})

test('C64 a harness with nothing more to do exits by itself, after the news of its commands', async () => {
  const { over } = host('idle.mjs')
  const { code, stdout, stderr } = await over
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '0 done\n', stderr: '' })
})

test('C73 a worker thread that is ended takes its commands with it', async () => {
  const worker = new Worker(new URL('fixtures/worker.mjs', import.meta.url), { workerData: 'leave' })
  const pid = await within(new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject)), PATIENCE_MS, 'the worker')
  assert.ok(isAlive(pid))
  await worker.terminate()
  await until(() => !isAlive(pid), PATIENCE_MS, 'its command\'s end')
})
