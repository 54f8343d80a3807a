import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import * as sdk from 'e2b'
import { until } from '../support/deadline.js'
import { isComplete, load, PATIENCE_MS, sandboxes, useServer } from './support.js'

const server = await useServer()
const complete = isComplete(server)

const isGone = async id => (await sdk.Sandbox.getInfo(id).catch(error => error)) instanceof sdk.SandboxNotFoundError

async function requests() {
  const answer = await fetch(`${server.apiUrl}/_sandboxd/requests`, { headers: { 'X-API-KEY': server.apiKey } })
  return (await answer.json())
}

test('C61 loading creates one secure sandbox with both directories, and disposal kills it', async () => {
  const { owner, errors, dispose } = await load()
  const [sandbox, same] = await Promise.all([owner.getSandbox(), owner.getSandbox()])
  assert.equal(sandbox, same)
  assert.ok(sandbox instanceof sdk.Sandbox)
  const { stdout } = await sandbox.commands.run(`stat -c '%a %U %F' ${owner.cwd} ${owner.runtimeRoot}`)
  assert.equal(stdout, '755 user directory\n700 user directory\n')
  assert.ok(sandbox.envdAccessToken?.length > 0, 'secure')
  await dispose()
  assert.deepEqual(errors, [])
  assert.ok(await isGone(sandbox.sandboxId))
  await assert.rejects(owner.getSandbox(), /disposing/)
})

test('C61 a ready sandbox costs one request to the control plane and one to the sandbox', { skip: server.kind !== 'sandboxd' }, async () => {
  const before = (await requests()).control['POST /sandboxes'] ?? 0
  const { owner, dispose } = await load()
  const { sandboxId } = await owner.getSandbox()
  const { control, sandboxes } = await requests()
  assert.deepEqual(sandboxes[sandboxId], { 'POST /process.Process/Start': 1 })
  assert.equal(control['POST /sandboxes'] - before, 1)
  await dispose()
})

test('D30 the object has everything that one of the SDK\'s own making has', async () => {
  const { owner, dispose } = await load({ cwd: '/home/user/objects' })
  const sandbox = await owner.getSandbox()
  await sandbox.files.write('/home/user/objects/a', 'text', { metadata: { k: 'v' } })
  const entry = await sandbox.files.getInfo('/home/user/objects/a')
  assert.deepEqual([entry.size, entry.metadata, entry.type], [4, { k: 'v' }, sdk.FileType.FILE])
  await assert.rejects(sandbox.files.read('/home/user/none'), sdk.FileNotFoundError)
  await assert.rejects(sandbox.commands.run('exit 3'), error => error instanceof sdk.CommandExitError && error.exitCode === 3)
  const shown = Promise.withResolvers?.() ?? deferred()
  let text = ''
  const terminal = await sandbox.pty.create({ rows: 24, cols: 80, onData: bytes => { if ((text += Buffer.from(bytes)).includes('told-42')) shown.resolve() } })
  await sandbox.pty.sendInput(terminal.pid, Buffer.from('echo told-$((40+2))\n'))
  await shown.promise
  await sandbox.pty.kill(terminal.pid)
  await sandbox.kill()
  assert.equal(await sandbox.isRunning(), false)
  // Killed elsewhere: the owner's own kill finds it gone, which is fine.
  await dispose()
})

test('D30 the object knows the control plane as well', { skip: !complete && 'the server is not complete' }, async () => {
  const { owner, dispose } = await load()
  const sandbox = await owner.getSandbox()
  assert.equal((await sandbox.getInfo()).sandboxId, sandbox.sandboxId)
  await sandbox.setTimeout(60_000)
  const { endAt } = await sandbox.getInfo()
  assert.ok(endAt - Date.now() < 62_000)
  assert.ok(await sandbox.isRunning())
  assert.equal((await sdk.Sandbox.connect(sandbox.sandboxId)).sandboxId, sandbox.sandboxId)
  await dispose()
})

test('C61 a sandbox whose life is over is gone, and the disposal finds that fine', async () => {
  const { owner, errors, dispose } = await load({ timeoutMs: 1500 })
  const { sandboxId } = await owner.getSandbox()
  await until(() => isGone(sandboxId), PATIENCE_MS, 'the end of its life', 100)
  await dispose()
  assert.deepEqual(errors, [])
})

test('variables, labels and template reach the sandbox', { skip: !complete && 'the server is not complete' }, async () => {
  const label = randomUUID()
  const { owner, dispose } = await load({ envs: { COLOUR: 'a b' }, metadata: { label }, template: 'base' })
  const sandbox = await owner.getSandbox()
  assert.equal((await sandbox.commands.run('printf %s "$COLOUR"')).stdout, 'a b')
  assert.deepEqual(await sandboxes({ label }), [sandbox.sandboxId])
  await dispose()
  assert.deepEqual(await sandboxes({ label }), [])
})

test('an existing sandbox is used and outlives the owner', { skip: !complete && 'the server is not complete' }, async () => {
  const existing = await sdk.Sandbox.create({ timeoutMs: 120_000 })
  const { endAt } = await existing.getInfo()
  const { owner, errors, dispose } = await load({ sandboxId: existing.sandboxId, timeoutMs: 60_000 })
  const sandbox = await owner.getSandbox()
  assert.equal(sandbox.sandboxId, existing.sandboxId)
  assert.match((await sandbox.commands.run(`stat -c %a ${owner.runtimeRoot}`)).stdout, /^700/)
  await dispose()
  assert.deepEqual(errors, [])
  assert.ok(await existing.isRunning())
  assert.equal(+(await existing.getInfo()).endAt, +endAt, 'its life was not made shorter')
  await existing.kill()
})

test('a paused sandbox is woken by who joins it', { skip: !complete && 'the server is not complete' }, async t => {
  const existing = await sdk.Sandbox.create()
  try {
    await existing.pause()
  } catch (error) {
    await existing.kill()
    if (/501/.test(error.message)) return t.skip('this server cannot pause')
    throw error
  }
  const { owner, dispose } = await load({ sandboxId: existing.sandboxId })
  await owner.getSandbox()
  assert.equal((await existing.getInfo()).state, 'running')
  await dispose()
  await existing.kill()
})

test('C61 a life is prolonged while a provider runs commands, and not without', { skip: !complete && 'the server is not complete' }, async () => {
  const { owner, dispose } = await load({ timeoutMs: 3000, keepAlive: true })
  const { sandboxId } = await owner.getSandbox()
  const release = owner[Symbol.for('dsh-subprocess-native.hold')]({ isBusy: () => true, isLeaving: () => false })
  const start = Date.now()
  const ends = async () => +(await sdk.Sandbox.getInfo(sandboxId)).endAt
  await until(async () => await ends() - start > 5500, PATIENCE_MS, 'a second prolongation', 100)
  release()
  await until(() => isGone(sandboxId), PATIENCE_MS, 'the end of its life', 100)
  await dispose()
})

for (const [name, module] of [['the newest SDK', 'e2b-newest'], ['a file', fileURLToPath(import.meta.resolve('e2b'))]]) {
  test(`the classes of the object come from ${name} when the configuration names it`, async () => {
    const { Sandbox, FileNotFoundError } = await import(module)
    const { owner, dispose } = await load({ sdk: module })
    const sandbox = await owner.getSandbox()
    assert.ok(sandbox instanceof Sandbox)
    await assert.rejects(sandbox.files.read('/home/user/none'), FileNotFoundError)
    assert.equal((await sandbox.commands.run('echo works')).stdout, 'works\n')
    assert.equal((await sandbox.getInfo()).state, 'running')
    await sandbox.setTimeout(60_000)
    assert.equal(await sandbox.kill(), module === 'e2b-newest' ? true : undefined)
    await dispose()
  })
}

test('a module that is missing or none shows before there is a sandbox', { skip: !complete && 'the server is not complete' }, async () => {
  for (const [sdk, words] of [['no-such-module', /no-such-module/], ['node:path', /must name a module that exports Sandbox/]]) {
    const label = randomUUID()
    const { owner, dispose } = await load({ sdk, metadata: { label } })
    await assert.rejects(owner.getSandbox(), words)
    assert.deepEqual(await sandboxes({ label }), [])
    await dispose()
  }
})

function deferred() {
  let resolve
  return { promise: new Promise(go => { resolve = go }), resolve: () => resolve() }
}
