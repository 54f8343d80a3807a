import assert from 'node:assert/strict'
import { test } from 'node:test'
import Provider from '../../index.js'
import { until, within } from '../support/deadline.js'
import { isComplete, load, openControl, PATIENCE_MS, sandboxOf, useServer, withEnvironment } from './support.js'

const server = await useServer()
const complete = isComplete(server)

const spec = (...argv) => ({ argv, cwd: '/home/user', graceMs: 2000, stdio: { stdin: 'ignore', stdout: { maxBytes: 1000 }, stderr: { maxBytes: 1000 } } })

/** Our owner and our provider in one context. */
async function both(config, Class = Provider) {
  const loaded = await load(config)
  const provider = await loaded.ctx.plugin(Class, {})
  return { ...loaded, provider, subprocess: loaded.ctx.subprocess }
}

test('C24 a sandbox whose life ends while a command runs has killed it', async () => {
  const { owner, subprocess, errors, dispose } = await both({ timeoutMs: 3000 })
  await owner.getSandbox()
  const handle = subprocess.spawn(spec('sleep', '600'))
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: null, signal: 'SIGKILL' })
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end of the tree'), true)
  await dispose()
  assert.deepEqual(errors, [])
})

test('C61 a command keeps a sandbox alive beyond its first life when asked to', { skip: !complete && 'the server prolongs nothing' }, async () => {
  const { owner, subprocess, errors, dispose } = await both({ timeoutMs: 3000, keepAlive: true })
  await owner.getSandbox()
  const handle = subprocess.spawn(spec('sh', '-c', 'sleep 4.5; echo alive'))
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 0, signal: null })
  assert.equal(handle.collected.stdout.readFrom(0).text, 'alive\n')
  await dispose()
  assert.deepEqual(errors, [])
})

test('C65 the provider ends its commands properly before the owner kills the sandbox', async () => {
  const events = []
  const control = await openControl(server.apiUrl, async ({ route }, forward) => {
    if (route.startsWith('DELETE')) events.push('kill')
    return forward()
  })
  await withEnvironment({ E2B_API_URL: control.url }, async () => {
    const { owner, subprocess, errors, dispose } = await both({})
    await owner.getSandbox()
    const handle = subprocess.spawn(spec('sh', '-c', 'trap "echo told; exit 7" TERM; echo begun; while :; do sleep 0.05; done'))
    await until(() => handle.collected.stdout.readFrom(0).text.includes('begun'), PATIENCE_MS, 'the command to begin')
    const outcome = handle.done.then(outcome => { events.push('ended'); return outcome })
    await dispose()
    assert.deepEqual(errors, [])
    assert.deepEqual(await outcome, { exitCode: 7, signal: null })
    assert.deepEqual(events, ['ended', 'kill'])
  })
})

test('C65 a provider whose constructor throws holds nothing', async () => {
  class Broken extends Provider {
    constructor(...args) {
      super(...args)
      throw new Error('broken on purpose')
    }
  }
  const { ctx, owner, dispose } = await load()
  await owner.getSandbox()
  await assert.rejects(async () => ctx.plugin(Broken, {}), /broken on purpose/)
  await until(() => owner.holds.holders.size === 0, PATIENCE_MS, 'the hold to be released')
  await dispose()
})

test('the supervisor is on its way while the sandbox is being set up', { skip: server.kind !== 'sandboxd' }, async () => {
  const hook = (method, path, body) => fetch(`${server.apiUrl}/_sandboxd/${path}`, {
    method, headers: { 'X-API-KEY': server.apiKey, 'content-type': 'application/json' }, body: body && JSON.stringify(body),
  })
  // The first request to the sandbox is answered so that the owner has to try again: the provider's are there before that.
  await hook('PUT', 'faults', { refuse: [{ path: '/process.Process/Start', contentType: '', status: 502 }] })
  const { owner, subprocess, dispose } = await both({})
  const { sandboxId } = await owner.opening.created
  const counts = async () => (await (await hook('GET', 'requests')).json()).sandboxes[sandboxId] ?? {}
  await until(async () => (await counts())['POST /files'] > 0, PATIENCE_MS, 'the upload')
  await hook('DELETE', 'faults')
  await owner.getSandbox()
  const { exitCode } = await within(subprocess.spawn(spec('true')).done, PATIENCE_MS, 'a command')
  assert.equal(exitCode, 0)
  await dispose()
})

test('C24 a command of a sandbox that could not be set up is told why, and nothing of it is left', async () => {
  const cwd = `/home/user/unready-${process.pid}`
  const control = await openControl(server.apiUrl, async ({ route }, forward) => {
    const answer = await forward()
    if (route === 'POST /sandboxes') await sandboxOf(answer).commands.run(`mkdir -p ${cwd} && touch ${cwd}/.dsh-e2b`)
    return answer
  })
  await withEnvironment({ E2B_API_URL: control.url }, async () => {
    const { subprocess, errors, dispose } = await both({ cwd })
    const handle = subprocess.spawn(spec('true'))
    await assert.rejects(within(handle.done, PATIENCE_MS, 'the outcome'), { code: 'ERR_E2B_RUNTIME_ROOT' })
    assert.equal(await handle.waitForExit(), true)
    assert.equal(handle.pid, -1)
    await dispose()
    assert.deepEqual(errors, [])
  })
})
