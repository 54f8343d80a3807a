import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENCE_MS, end, gone, rejection, says, settled, useLink } from './world.js'
import { until } from '../support/deadline.js'

const link = useLink()
const LOST_MS = 1_000

async function lose(world, handle) {
  world.proxy.rules = [{ refuse: 503 }]
  world.proxy.cut()
  return rejection(handle.done, 'the command')
}

test('C21 C82 a sandbox that stays unreachable is given up: done rejects and says what was lost', async () => {
  const world = await link.open({ lostAfterMs: LOST_MS })
  const handle = world.spawn(['sh', '-c', 'echo up; sleep 600'], { graceMs: 300 })
  await says(handle, /up/)
  const start = performance.now()
  const error = await lose(world, handle)
  assert.ok(performance.now() - start >= LOST_MS)
  assert.equal(error.code, 'ERR_SANDBOX_UNREACHABLE')
  assert.match(error.message, new RegExp(`sandbox ${world.direct.sandboxId} has been unreachable for \\d+ s: .*503`))
  assert.equal((await rejection(handle.waitForExit())).code, 'ERR_SANDBOX_UNREACHABLE')
  world.heal()
  await end(handle).catch(() => {})
})

test('C15 C21 what was not read of a raw pipe when its sandbox was given up is an error of the stream, not its end', async () => {
  const world = await link.open({ lostAfterMs: LOST_MS })
  const [read, ignored] = [1, 2].map(() => world.spawn(['sh', '-c', 'echo up; sleep 600'], { stdout: 'pipe', graceMs: 300 }))
  const got = []
  const reading = (async () => {
    for await (const chunk of read.stdout) got.push(chunk)
  })()
  reading.catch(() => {})
  ignored.stdout.resume()
  await until(() => Buffer.concat(got).toString() === 'up\n', PATIENCE_MS, 'what was read before')
  await lose(world, read)
  assert.equal((await rejection(reading, 'the reader')).code, 'ERR_SANDBOX_UNREACHABLE')
  // Nobody listens to it: that must not end this process.
  await until(() => ignored.stdout.destroyed, PATIENCE_MS, 'the other stream')
  world.heal()
  for (const handle of [read, ignored]) await end(handle).catch(() => {})
})

test('C32 a command that was given up can be ended when its sandbox is back, and the next one works', async () => {
  const world = await link.open({ lostAfterMs: LOST_MS })
  const handle = world.spawn(['sh', '-c', 'echo up; echo $$ > pid; trap "" TERM; while :; do sleep 1; done'], { graceMs: 300, stdout: { maxBytes: 100 } })
  await says(handle, /up/)
  await lose(world, handle)
  assert.match(await world.witness('kill -0 $(cat pid) && echo alive'), /alive/)
  // Tried again while nothing has changed: it says so again.
  handle.terminate()
  assert.equal((await rejection(handle.waitForExit())).code, 'ERR_SANDBOX_UNREACHABLE')
  world.heal()
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.doesNotMatch(await world.witness('kill -0 $(cat pid) && echo alive'), /alive/)
  assert.equal((await rejection(handle.done)).code, 'ERR_SANDBOX_UNREACHABLE')
  assert.equal((await world.sh('echo next')).stdout, 'next\n')
})

test('C21 a command that never reached the sandbox never runs there once it has rejected', async () => {
  const world = await link.open({ lostAfterMs: LOST_MS })
  world.proxy.rules = [{ refuse: 503 }]
  const before = world.proxy.requests.length
  world.proxy.cut()
  // What is handed to a connection that is not known to be broken may have arrived.
  await until(() => world.proxy.requests.length > before, PATIENCE_MS, 'another attempt to attach')
  const handle = world.spawn(['sh', '-c', 'echo x >> ran'])
  const error = await rejection(handle.done)
  assert.equal(error.code, 'ERR_SANDBOX_UNREACHABLE')
  assert.equal(handle.pid, -1)
  assert.equal(await gone(handle), true)
  world.heal()
  assert.deepEqual(await settled(world.spawn(['true'])), { exitCode: 0, signal: null })
  assert.equal(await world.witness('cat ran 2>/dev/null'), '')
})
