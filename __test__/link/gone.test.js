import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENCE_MS, drain, gone, needsSandboxd, rejection, says, settled, text, useLink } from './world.js'
import { until } from '../support/deadline.js'

const link = useLink()
const KILLED = { exitCode: null, signal: 'SIGKILL' }

test('C24 when the control plane does not know the sandbox any more, everything in it ended as killed', async () => {
  const world = await link.open()
  const handles = ['pipe', { maxBytes: 1000 }].map(stdout => world.spawn(['sh', '-c', 'echo up; sleep 600'], { stdout }))
  const output = drain(handles[0].stdout)
  await says(handles[1], /up/)
  await world.direct.kill()
  for (const handle of handles) {
    assert.deepEqual(await settled(handle), KILLED)
    assert.equal(await gone(handle), true)
    handle.terminate()
    assert.equal(await gone(handle), true)
  }
  assert.equal(String(await output), 'up\n')
  const late = world.spawn(['true'])
  assert.match((await rejection(late.done)).message, /is gone/)
  assert.equal(await gone(late), true)
  await world.dispose()
})

test('C24 what the edge says never ends a sandbox: a command outlasts its 502, 404 and 503', { timeout: 90_000 }, async () => {
  const world = await link.open()
  const handle = world.spawn(['sh', '-c', 'i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i; sleep .05; done; exit 3'])
  for (const refuse of [502, 404, 503, 401, 403, 400, 500]) {
    const before = world.proxy.requests.length
    world.proxy.rules = [{ refuse }]
    world.proxy.cut()
    await until(() => world.proxy.requests.length >= before + 3, PATIENCE_MS, 'three refused attempts')
    const seen = text(handle).length
    world.heal()
    await until(() => text(handle).length > seen, PATIENCE_MS, `the command after ${refuse}`)
  }
  await world.witness('touch stop')
  assert.deepEqual(await settled(handle), { exitCode: 3, signal: null })
  const numbers = text(handle).trim().split('\n').map(Number)
  assert.deepEqual(numbers, numbers.map((_, i) => i + 1))
})

test('C82 a paused sandbox is waited for beyond the bound of lost ones, and its commands go on when it is resumed', { timeout: 90_000, skip: needsSandboxd }, async () => {
  const world = await link.open({ lostAfterMs: 800 })
  const handle = world.spawn(['sh', '-c', 'while read l; do echo $l; done; exit 2'], { stdin: 'pipe' })
  handle.stdin.write('before\n')
  await says(handle, /before/)
  const control = (path, body) => fetch(`${link.server.apiUrl}/sandboxes/${world.direct.sandboxId}/${path}`, {
    method: 'POST', headers: { 'X-API-KEY': link.server.apiKey, 'content-type': 'application/json' }, body: JSON.stringify(body),
  })
  assert.equal((await control('pause', {})).status, 204)
  handle.stdin.write('during\n')
  // Longer than an unreachable sandbox is waited for, with more attempts than that takes.
  const before = world.proxy.requests.length
  await until(() => world.proxy.requests.length >= before + 5, PATIENCE_MS, 'five attempts')
  await new Promise(resolve => setTimeout(resolve, 1_000))
  assert.equal((await control('connect', { timeout: 600 })).status, 201)
  await says(handle, /during/)
  handle.stdin.end()
  assert.deepEqual(await settled(handle), { exitCode: 2, signal: null })
})

test('C24 a sandbox that is deleted while it cannot be reached ends its commands as soon as the control plane says so', async () => {
  const world = await link.open()
  const handle = world.spawn(['sh', '-c', 'echo up; sleep 600'])
  await says(handle, /up/)
  world.proxy.rules = [{ refuse: 503 }]
  world.proxy.cut()
  await world.direct.kill()
  assert.deepEqual(await settled(handle), KILLED)
})
