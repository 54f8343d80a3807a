import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Context } from '@deepseek-ai/cordis'
import { Context as OlderContext } from 'cordis-older'
import InvariantService from '@deepseek-ai/dsh-invariants'
import Provider, { E2BSubprocessRuntime, E2BSubprocessService } from '../../index.js'
import * as companion from '../../invariant.js'
import { within } from '../support/deadline.js'
import { PATIENCE_MS, useServer } from './support.js'

const used = useServer()

test('C2 D1 the default export is the class under both of its names, and needs the owner', () => {
  assert.equal(Provider, E2BSubprocessRuntime)
  assert.equal(Provider, E2BSubprocessService)
  assert.deepEqual(Provider.inject, ['e2b'])
  assert.deepEqual(Provider.Config({}).pollMs, 20)
})

test('C2 one class serves an older Cordis as well', async () => {
  const world = await used.load({}, { Context: OlderContext })
  assert.equal((await world.run(['echo', 'older'])).stdout, 'older\n')
  await world.dispose()
  assert.deepEqual(world.errors, [])
})

test('D14 a configuration that cannot be meant fails the load, before anything is asked of the owner', async () => {
  const ctx = new Context()
  ctx.logger.error = () => {}
  let asked = 0
  ctx.provide('e2b', { cwd: '/', runtimeRoot: '/r', getSandbox: async () => { asked++ } })
  for (const [config, message] of [
    [{ pollMs: 0 }, /pollMs must be a positive safe integer/],
    [{ pollMs: 1.5 }, /pollMs must be a positive safe integer/],
    [{ startupWaitMs: -1 }, /startupWaitMs must be/],
    [{ lostAfterMs: Infinity }, /lostAfterMs must be/],
    [{ envPrefixes: [''] }, /envPrefixes must be/],
    [{ supervisorPath: 'relative' }, /supervisorPath must be an absolute path/],
  ]) {
    await assert.rejects(async () => ctx.plugin(class extends Provider {}, config), message)
  }
  assert.equal(asked, 0)
})

test('C4 D1 a second provider in one context fails as Cordis says', async () => {
  const world = await used.load()
  class Second extends Provider {}
  await assert.rejects(async () => world.ctx.plugin(Second, {}), /service "subprocess" has been registered/)
})

test('D4 methods work on whatever inherits from the service', async () => {
  const { subprocess, cwd } = await used.load()
  const spec = { argv: ['true'], cwd, stdio: { stdin: 'ignore', stdout: { maxBytes: 1 }, stderr: { maxBytes: 1 } }, graceMs: 100 }
  for (const self of [Object.create(subprocess), new Proxy(subprocess, {})]) {
    assert.deepEqual(await within(self.spawn(spec).done, PATIENCE_MS, 'a command'), { exitCode: 0, signal: null })
    assert.match(await self.resolveExecutable('sh'), /sh$/)
  }
  const bare = Object.assign(Object.create(Provider.prototype), { disposing: false, ctx: new Context() })
  assert.throws(() => bare.spawn({ ...spec, graceMs: 0 }), /graceMs must be a positive finite number/)
  bare.disposing = true
  assert.throws(() => bare.spawn(spec), /service is disposing/)
  assert.equal(subprocess[Symbol.for('cordis.tracker')], undefined)
  subprocess.internals = { spillDir: '/x' }
})

test('C3 the companion registers this package and installs nothing', async () => {
  const ctx = new Context()
  await ctx.plugin(InvariantService, {})
  assert.deepEqual(companion.inject, ['invariants'])
  await ctx.plugin(companion)
  assert.throws(() => ctx.invariants.register('dsh-subprocess-native', () => {}), /already registered/)
})

test('C12 with startupWaitMs spawn holds its caller until there is a pid', async () => {
  const world = await used.load({ startupWaitMs: 5000 })
  const handles = Array.from({ length: 60 }, () => world.spawn(['true']))
  assert.deepEqual(handles.filter(handle => handle.pid <= 1).map(handle => handle.pid), [])
  assert.equal(new Set(handles.map(handle => handle.pid)).size, 60)
  await within(Promise.all(handles.map(handle => handle.done)), PATIENCE_MS, 'all of them')
})

test('C60 spawns are refused from the beginning of disposal on, and a failed one is not reported', async () => {
  const world = await used.load()
  const failing = world.spawn(['true'], { cwd: '/no/such' })
  const running = world.spawn(['sleep', '60'])
  await world.run(['true'])
  const disposing = world.provider.dispose()
  await Promise.resolve()
  await within(disposing, PATIENCE_MS, 'disposal')
  assert.throws(() => world.spawn(['true']), /service is disposing/)
  await assert.rejects(failing.done)
  assert.deepEqual(await running.done, { exitCode: null, signal: 'SIGTERM' })
  assert.deepEqual(world.errors, [])
})
