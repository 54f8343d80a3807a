import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, guardOf, guarded, isAlive, useWorld } from './support.js'

const world = useWorld()

test('C75 a guard that does not listen for a while harms nothing that runs, and then knows what it missed', { timeout: 120_000 }, async () => {
  const early = world.spawn(['sleep', '1000'])
  await until(() => guarded(process.pid) === 1, PATIENCE_MS, 'a guard that knows the first session')
  const guard = guardOf(process.pid)
  process.kill(guard, 'SIGSTOP')
  try {
    // Two records each: more than a socket holds.
    for (let round = 0; round < 20; round += 1) await Promise.all(Array.from({ length: 20 }, () => world.run(['true'])))
    const late = world.spawn(['sleep', '1000'])
    process.kill(guard, 'SIGCONT')
    await until(() => guarded(process.pid) === 2, PATIENCE_MS, 'the guard to catch up')
    assert.deepEqual([guardOf(process.pid), isAlive(early.pid), isAlive(late.pid)], [guard, true, true])
    late.terminate()
    await within(late.done, PATIENCE_MS, 'its end')
    await until(() => guarded(process.pid) === 1, PATIENCE_MS, 'the guard to hear of that')
  } finally {
    process.kill(guard, 'SIGCONT')
    early.terminate()
  }
  assert.equal((await within(early.done, PATIENCE_MS, 'the first one\'s end')).signal, 'SIGTERM')
})
