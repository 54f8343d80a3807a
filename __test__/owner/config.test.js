import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import InvariantRegistry from '@deepseek-ai/dsh-invariants'
import { Context } from '@deepseek-ai/cordis'
import * as pinned from 'e2b'
import * as companion from '../../e2b-invariant.js'
import Owner, * as owner from '../../e2b.js'
import { openControl, refusal, load, withEnvironment } from './support.js'

const control = await openControl('http://127.0.0.1:9', async () => refusal(401))
const nowhere = { E2B_API_URL: control.url, E2B_SANDBOX_URL: control.url }

for (const [config, words] of [
  [{ apiKey: '' }, /configure apiKey or set E2B_API_KEY/],
  [{}, /configure apiKey or set E2B_API_KEY/],
  [{ apiKey: 'x', cwd: 'relative' }, /cwd must be an absolute Linux path: relative/],
  [{ apiKey: 'x', timeoutMs: 0 }, /timeoutMs must be a positive finite number/],
  [{ apiKey: 'x', timeoutMs: Infinity }, /timeoutMs must be a positive finite number/],
  [{ apiKey: 'x', timeoutMs: NaN }, /timeoutMs must be a positive finite number/],
  [{ apiKey: 'x', sandboxId: 'i1', template: 'mine' }, /template is for a new sandbox/],
]) {
  test(`D14 ${inspect(config)} is refused before any request`, () => withEnvironment({ ...nowhere, E2B_API_KEY: undefined }, async () => {
    const before = control.routes.length
    await assert.rejects(load(config), words)
    assert.throws(() => new Owner(stranger(), config), words)
    assert.equal(control.routes.length, before)
  }))
}

test('D14 a configured empty key is an error although the environment has one', () =>
  withEnvironment({ ...nowhere, E2B_API_KEY: 'e2b_00' }, () => assert.rejects(load({ apiKey: '' }), /configure apiKey/)))

test('C61 the key comes from the environment when none is configured, and the rest has defaults', () =>
  withEnvironment({ ...nowhere, E2B_API_KEY: 'e2b_00' }, async () => {
    const { owner, dispose } = await load()
    assert.equal(owner.cwd, '/home/user/workspace')
    assert.equal(owner.runtimeRoot, '/home/user/workspace/.dsh-e2b')
    await assert.rejects(owner.getSandbox(), pinned.AuthenticationError)
    await dispose()
  }))

test('D1 a class that extends the owner is loaded like it, and a second one fails with the duplicate error of Cordis', () =>
  withEnvironment({ ...nowhere, E2B_API_KEY: 'e2b_00' }, async () => {
    class Mine extends Owner {}
    const { ctx, owner, dispose } = await load({ cwd: '/srv' }, Mine)
    assert.ok(owner instanceof Mine && owner instanceof owner.constructor)
    assert.equal(owner.runtimeRoot, '/srv/.dsh-e2b')
    await assert.rejects(owner.getSandbox(), pinned.AuthenticationError)
    const created = () => control.routes.filter(route => route === 'POST /sandboxes').length
    const before = created()
    await assert.rejects(async () => ctx.plugin(Owner, {}), /service "e2b" has been registered/)
    // Had it asked, it would have been before this one's answer.
    await fetch(control.url)
    assert.equal(created(), before)
    await dispose()
  }))

test('D4 methods work on an object that only inherits the fields', () =>
  withEnvironment({ ...nowhere, E2B_API_KEY: 'e2b_00' }, async () => {
    const { owner, dispose } = await load()
    const views = [Object.create(owner), new Proxy(owner, {})]
    for (const view of views) await assert.rejects(view.getSandbox(), pinned.AuthenticationError)
    await dispose()
    for (const view of views) await assert.rejects(view.getSandbox(), /disposing/)
  }))

test('D31 the module exports both generations of the class name and the classes of the pinned SDK', () => {
  assert.equal(owner.default, owner.E2BRuntime)
  assert.equal(owner.default, owner.E2BSandboxService)
  for (const name of ['Sandbox', 'SandboxNotFoundError', 'FileNotFoundError', 'CommandExitError', 'FileType']) {
    assert.equal(owner[name], pinned[name], name)
  }
})

test('D32 control variables are a new object each time with a home that does not exist and cannot be overridden', () => {
  const first = owner.e2bControlEnvs({ HOME: '/hostile', A: '' })
  const second = owner.e2bControlEnvs()
  assert.match(first.HOME, /^\/\.dsh-e2b-control-[0-9a-f-]{36}$/)
  assert.deepEqual(Object.keys(first), ['HOME', 'A'])
  assert.notEqual(first.HOME, second.HOME)
})

test('D32 a quoted argument is one word to a shell, whatever it holds', () => {
  assert.equal(owner.quoteE2BShellArg("a'b $HOME"), `'a'"'"'b $HOME'`)
})

test('C3 the companion registers the owner with the invariants and can be disposed', async () => {
  const ctx = new Context()
  await ctx.plugin(InvariantRegistry, { enabled: true })
  const fiber = await ctx.plugin(companion)
  await assert.rejects(async () => (await ctx.plugin({ ...companion, name: 'again' })), /dsh-subprocess-native\/e2b/)
  await fiber.dispose()
})

/** A context that must not be touched. */
function stranger() {
  return new Proxy({}, { get: (_target, name) => assert.fail(`the context was asked for ${String(name)}`) })
}

test('C61 C62 a key without a value, null in YAML, is a key that is left out', () =>
  withEnvironment({ ...nowhere, E2B_API_KEY: 'e2b_00' }, async () => {
    const keys = ['apiKey', 'cwd', 'timeoutMs', 'template', 'envs', 'metadata', 'domain', 'keepAlive', 'sandboxId', 'sdk']
    const { owner, dispose } = await load(Object.fromEntries(keys.map(key => [key, null])))
    assert.equal(owner.cwd, '/home/user/workspace')
    await assert.rejects(owner.getSandbox(), pinned.AuthenticationError)
    await dispose()
  }))
