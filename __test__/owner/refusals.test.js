import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as sdk from 'e2b'
import { until } from '../support/deadline.js'
import { load, openControl, PATIENCE_MS, refusal, useServer, withEnvironment } from './support.js'

const server = await useServer()

/** Loads an owner before a control plane that answers so, and gives the failure of its setup and what was asked. */
async function refused(answers, config) {
  const control = await openControl(server.apiUrl, async () => answers.length > 1 ? answers.shift() : answers[0])
  return withEnvironment({ E2B_API_URL: control.url }, async () => {
    const { owner, errors, dispose } = await load(config)
    const error = await owner.getSandbox().then(() => assert.fail('there is a sandbox'), error => error)
    await assert.rejects(owner.getSandbox(), same => same === error, 'everybody gets the same failure')
    await dispose()
    assert.deepEqual(errors, [], 'a failed setup is no failure of the disposal')
    return { error, routes: control.routes }
  })
}

for (const { status, extra, Class, code, ...facts } of [
  { status: 401, Class: sdk.AuthenticationError, code: 'ERR_E2B_UNAUTHORIZED' },
  { status: 403, Class: sdk.SandboxError, code: 'ERR_E2B_FORBIDDEN' },
  { status: 404, Class: sdk.SandboxError, code: 'ERR_E2B_NOT_FOUND' },
  { status: 400, Class: sdk.SandboxError, code: 'ERR_E2B_REFUSED' },
  { status: 429, Class: sdk.RateLimitError, code: 'ERR_E2B_RATE_LIMITED' },
  { status: 500, Class: sdk.SandboxError, code: 'ERR_E2B_SERVER' },
  { status: 502, Class: sdk.SandboxError, code: 'ERR_E2B_SERVER' },
  { status: 504, extra: { error_code: 'sandbox_placement_timeout' }, Class: sdk.SandboxError, code: 'ERR_E2B_PLACEMENT', errorCode: 'sandbox_placement_timeout' },
  { status: 503, extra: { error_code: 'sandbox_no_compatible_node' }, Class: sdk.SandboxError, code: 'ERR_E2B_PLACEMENT', errorCode: 'sandbox_no_compatible_node' },
]) {
  test(`C61 a create that is refused with ${status}${extra ? ` ${extra.error_code}` : ''} rejects once and typed`, async () => {
    const { error, routes } = await refused([refusal(status, extra)])
    assert.ok(error instanceof Class, error.stack)
    assert.deepEqual({ ...error, name: undefined }, { code, status, ...facts, name: undefined })
    assert.match(error.message, new RegExp(`says ${status}`))
    assert.deepEqual(routes, ['POST /sandboxes'])
  })
}

test('C61 a limit is waited for as long as the server asks, when that is short', async () => {
  const start = performance.now()
  const { error, routes } = await refused([refusal(429, {}, { 'retry-after': '1' }), refusal(401)])
  assert.equal(error.code, 'ERR_E2B_UNAUTHORIZED')
  assert.equal(routes.length, 2)
  assert.ok(performance.now() - start >= 1000)
})

test('C61 a limit whose time is long is the caller\'s to wait for', async () => {
  const { error, routes } = await refused([refusal(429, {}, { 'retry-after': '3600' })])
  assert.equal(error.retryAfterMs, 3_600_000)
  assert.equal(routes.length, 1)
})

test('C61 a create that found no capacity is repeated, as nothing was created', async () => {
  const { error, routes } = await refused([refusal(503, { error_code: 'sandbox_capacity_unavailable' }), refusal(401)])
  assert.equal(error.code, 'ERR_E2B_UNAUTHORIZED')
  assert.equal(routes.length, 2)
})

test('C61 a create whose connection breaks is not repeated, since a sandbox may have been created', async () => {
  const { error, routes } = await refused([undefined])
  assert.equal(error.code, 'ERR_E2B_ANSWER_LOST')
  assert.ok(error instanceof sdk.TimeoutError)
  assert.equal(routes.length, 1)
})

test('C61 nobody at the control plane\'s address is told as such', async () => {
  const control = await openControl(server.apiUrl, async () => refusal(500))
  control.close()
  await withEnvironment({ E2B_API_URL: control.url }, async () => {
    const { owner, dispose } = await load()
    await assert.rejects(owner.getSandbox(), { code: 'ERR_E2B_UNREACHABLE' })
    await dispose()
  })
})

test('C61 an answer that is none is told without quoting it', async () => {
  const { error } = await refused([{ status: 201, body: '{"envdAccessToken":"ea-secret"}' }])
  assert.equal(error.code, 'ERR_E2B_PROTOCOL')
  assert.doesNotMatch(error.stack, /ea-secret/)
})

test('a sandbox to join that does not exist is the SDK\'s SandboxNotFoundError', async () => {
  const { error, routes } = await refused([refusal(404)], { sandboxId: 'inone' })
  assert.ok(error instanceof sdk.SandboxNotFoundError)
  assert.deepEqual(routes, ['POST /sandboxes/inone/connect'])
})

test('C61 a kill that fails at disposal is thrown, and one of a sandbox that is gone is not', async () => {
  for (const [answer, failures] of [[refusal(403), ['ERR_E2B_FORBIDDEN']], [refusal(404), []]]) {
    const control = await openControl(server.apiUrl, ({ route }, forward) => route.startsWith('DELETE') ? Promise.resolve(answer) : forward())
    await withEnvironment({ E2B_API_URL: control.url }, async () => {
      const { owner, errors, dispose } = await load()
      const sandbox = await owner.getSandbox()
      await dispose()
      assert.deepEqual(errors.map(({ code }) => code), failures)
      assert.equal(control.routes.filter(route => route.startsWith('DELETE')).length, 1)
      await sdk.Sandbox.kill(sandbox.sandboxId, { apiUrl: server.apiUrl })
    })
  }
})

test('C61 a kill whose answer is lost is repeated', async () => {
  let cut = true
  const control = await openControl(server.apiUrl, async ({ route }, forward) => {
    const answer = await forward()
    if (!route.startsWith('DELETE') || !cut) return answer
    cut = false
    return undefined
  })
  await withEnvironment({ E2B_API_URL: control.url }, async () => {
    const { owner, errors, dispose } = await load()
    const { sandboxId } = await owner.getSandbox()
    await dispose()
    assert.deepEqual(errors, [])
    await until(async () => (await sdk.Sandbox.getInfo(sandboxId).catch(error => error)) instanceof sdk.SandboxNotFoundError, PATIENCE_MS, 'the sandbox to be gone')
  })
})
