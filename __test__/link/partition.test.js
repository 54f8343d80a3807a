import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENCE_MS, gone, mark, says, settled, useLink } from './world.js'
import { until } from '../support/deadline.js'

const link = useLink()

test('C30 the grace runs in the sandbox: the end comes while the host is cut off', async () => {
  const world = await link.open({ silenceMs: 600 })
  const sleep = mark()
  const handle = world.spawn(['bash', '-c', `trap "" TERM; sleep ${sleep} & echo up; while :; do sleep 1; done`], { graceMs: 400 })
  await says(handle, /up/)
  const told = world.sh('true')
  handle.terminate()
  // The command before it was answered: so was this heard, on one ordered link.
  await told
  world.proxy.bytes = { frozen: true }
  world.proxy.freeze()
  await world.untilSleepers(sleep, 0)
  world.heal()
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGKILL' })
  assert.equal(await gone(handle), true)
})

test('C30 a termination that is asked for while the host is cut off reaches the sandbox once it is back', async () => {
  const world = await link.open({ silenceMs: 600 })
  const sleep = mark()
  const handle = world.spawn(['bash', '-c', `sleep ${sleep} & echo up; wait`], { graceMs: 400 })
  await says(handle, /up/)
  world.proxy.bytes = { frozen: true }
  world.proxy.freeze()
  handle.terminate()
  const before = world.proxy.connections
  await until(() => world.proxy.connections !== before, PATIENCE_MS, 'another attempt')
  assert.equal(await world.sleepers(sleep), 1)
  world.heal()
  assert.equal(await gone(handle), true)
  assert.equal((await settled(handle)).signal, 'SIGTERM')
  assert.equal(await world.sleepers(sleep), 0)
})
