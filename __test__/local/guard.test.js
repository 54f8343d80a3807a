import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
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

test('C75 a guard that could not be started is tried again, and ends what had begun before', async () => {
  const fixture = fileURLToPath(new URL('fixtures/scarce.mjs', import.meta.url))
  const env = { ...process.env, DSH_SUBPROCESS_LOG: 'dsh_subprocess_native=debug' }
  const child = execFile('sh', ['-c', 'ulimit -n 100; exec "$0" "$@"', process.execPath, fixture], { env, timeout: PATIENCE_MS, killSignal: 'SIGKILL' })
  const over = new Promise(resolve => child.once('exit', resolve))
  let said = ''
  let log = ''
  child.stdout.on('data', text => { said += text })
  child.stderr.on('data', text => { log += text })
  await until(() => said.includes('\n') && log.includes('no guard beside this process'), PATIENCE_MS, 'the failed start')
  const pid = Number(said)
  assert.ok(isAlive(pid) && guardOf(child.pid) === undefined)
  child.stdin.write('enough\n')
  await until(() => guarded(child.pid) >= 1, PATIENCE_MS, 'a guard that knows the session')
  process.kill(child.pid, 'SIGKILL')
  await within(over, PATIENCE_MS, 'the host\'s end')
  await until(() => !isAlive(pid), PATIENCE_MS, 'the command\'s end')
})
