import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXTENDED, end, gone, mark, says, settled, text, useLink } from './world.js'

const link = useLink()

test('no request asks the daemon to end a process by the time (traps C9, C10)', async () => {
  const world = await link.open({}, { rules: [{ path: '/process.Process/StreamInput', refuse: 404 }] })
  await world.sh('true', { stdin: { data: 'x' } })
  world.heal()
  world.proxy.cut()
  await world.sh('true')
  const seen = world.proxy.requests.filter(({ path }) => path.startsWith('/process.'))
  for (const method of ['Start', 'StreamInput', 'SendInput']) assert.ok(seen.some(({ path }) => path.endsWith(`/${method}`)), method)
  for (const { path, headers } of seen) assert.ok(!('connect-timeout-ms' in headers) && !('grpc-timeout' in headers), path)
})

test('C30 a command that is called off after two seconds says its last words, ends by the signal, and leaves nothing (trap C10)', async () => {
  const world = await link.open()
  const sleep = mark()
  const abort = new AbortController()
  const handle = world.spawn(['sh', '-c', `trap "echo bye" TERM; echo up; sleep ${sleep}; sleep ${sleep}`], { signal: abort.signal, graceMs: 500 })
  await says(handle, /up/)
  setTimeout(() => abort.abort(), 2_000)
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGKILL' })
  assert.equal(text(handle), 'up\nbye\n')
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(sleep), 0)
})

const RUN_MS = EXTENDED ? 130_000 : 3_000
test(`a command that just runs is there after ${RUN_MS / 1000} s, and can be ended (trap C9)`, { timeout: 300_000 }, async () => {
  const world = await link.open({ silenceMs: 900 })
  const sleep = mark()
  const handle = world.spawn(['sleep', sleep], { stdout: 'pipe' })
  await world.untilSleepers(sleep, 1)
  const before = world.proxy.requests.length
  await new Promise(resolve => setTimeout(resolve, RUN_MS))
  assert.equal(await world.sleepers(sleep), 1)
  assert.equal(world.proxy.requests.length, before, 'it cost requests')
  await end(handle)
  assert.equal(await world.sleepers(sleep), 0)
})
