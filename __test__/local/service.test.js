import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Context } from '@deepseek-ai/cordis'
import Provider, * as entry from '../../local.js'
import * as invariant from '../../local-invariant.js'
import { World } from './support.js'

test('C2 D1 both generations of the class name are the default export, which takes no configuration and needs nothing', () => {
  assert.equal(entry.LocalSubprocessRuntime, Provider)
  assert.equal(entry.LocalSubprocessService, Provider)
  assert.equal(Provider.Config, undefined)
  assert.equal(Provider.inject, undefined)
})

test('C4 a second provider throws Cordis\' own error', async () => {
  const world = await new World().load()
  await assert.rejects(async () => { await world.ctx.plugin(class Second extends Provider {}) }, /service "subprocess" has been registered/)
  await world.dispose()
})

test('C3 the companion registers a name of its own with an installer that installs nothing', async () => {
  const registered = []
  const ctx = { invariants: { register: (name, install) => { registered.push([name, install()]); return () => 'ended' } } }
  assert.deepEqual(invariant.inject, ['invariants'])
  assert.equal((await invariant.apply(ctx))(), 'ended')
  assert.deepEqual(registered, [['dsh-subprocess-native/local', undefined]])
})

test('C10 specs that can\'t be meant throw at once', async () => {
  const world = await new World().load()
  for (const graceMs of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31]) {
    assert.throws(() => world.spawn(['true'], { graceMs }), /graceMs must be a positive finite number no greater than 2147483647/)
  }
  for (const argv of [[], ['']]) assert.throws(() => world.spawn(argv), /expected a non-empty program name/)
  const bare = { aborted: true, reason: undefined, addEventListener() {}, removeEventListener() {} }
  assert.throws(() => world.spawn(['true'], { signal: bare }), /aborted before spawn: aborted/)
  await world.dispose()
})

test('D4 methods work on objects that inherit from the service', async () => {
  const world = await new World().load()
  for (const service of [Object.create(world.subprocess), new Proxy(world.subprocess, {})]) {
    const handle = service.spawn({ argv: ['true'], cwd: '/', stdio: { stdin: 'ignore', stdout: { maxBytes: 1 }, stderr: { maxBytes: 1 } }, graceMs: 100 })
    assert.deepEqual(await handle.done, { exitCode: 0, signal: null })
  }
  await world.dispose()
})
