import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Sandbox } from 'e2b'
import { under as underOwner } from './bare.js'
import { SOON_MS, gone, matrix, rejection, says, settled, text, unless, useWorld } from './world.js'
import { hook } from './hook.js'

const world = useWorld()
const ours = unless('native')

/** The provider with an owner of the test's own, where this file's sandbox is. */
const under = (owner, config) => underOwner(world.server, { cwd: world.cwd, ...owner }, config)

matrix('C21 errors are what Node\'s own spawn gives: an Error with code, syscall, path and a message that names all', async () => {
  const error = await rejection(world.spawn(['no-such-program-anywhere', 'argument']).done)
  assert.ok(error instanceof Error)
  assert.equal(error.message, 'spawn no-such-program-anywhere ENOENT')
  assert.deepEqual({ ...error, spawnargs: undefined }, { errno: -2, code: 'ENOENT', syscall: 'spawn no-such-program-anywhere', path: 'no-such-program-anywhere', spawnargs: undefined })
  assert.match(error.stack, /no-such-program-anywhere/)
})

test('C24 a getSandbox that rejects is the rejection of done, as it is', { skip: ours }, async () => {
  const failure = new Error('the owner could not set up')
  const owned = await under({ getSandbox: () => Promise.reject(failure) })
  for (let at = 0; at < 3; at += 1) {
    const handle = owned.spawn(['true'])
    assert.equal(await rejection(handle.done), failure)
    assert.equal(handle.pid, -1)
    assert.equal(await gone(handle), true)
  }
  assert.equal(await rejection(owned.subprocess.resolveExecutable('sh')), failure)
  await owned.dispose()
})

test('C24 getSandbox is asked at every spawn: a failure that passes is no failure later', { skip: ours, timeout: 90_000 }, async () => {
  const sandbox = await world.composition.sandbox()
  let asked = 0
  const owned = await under({
    getSandbox: async () => {
      asked += 1
      if (asked <= 2) throw new Error(`not yet ${asked}`)
      return sandbox
    },
  })
  assert.match((await rejection(owned.spawn(['true']).done)).message, /not yet 2/)
  assert.deepEqual(await settled(owned.spawn(['true'])), { exitCode: 0, signal: null })
  await owned.dispose()
})

test('C21 an owner that gives something that is no sandbox is told so', { skip: ours }, async () => {
  for (const nothing of [undefined, null, {}, { sandboxId: 7 }, { sandboxId: 'x' }]) {
    const owned = await under({ getSandbox: async () => nothing })
    assert.match((await rejection(owned.spawn(['true']).done)).message, /no sandbox of the E2B SDK/)
    await owned.dispose()
  }
})

for (const [what, make, repair] of [
  ['is a file', 'touch "$R"', 'rm "$R"'],
  ['lies below a file', 'touch "${R%/*}"', 'rm "${R%/*}"'],
  ['is a link to nowhere', 'ln -s nowhere "$R"', 'rm "$R"'],
  ['is another user\'s', 'mkdir -m 700 "$R"; chown root "$R"', 'rmdir "$R"'],
  ['is a loop of links', 'ln -s "${R##*/}" "$R"', 'rm "$R"'],
]) {
  test(`C21 a runtime root that ${what} is told at once, and the next command finds it mended`, { skip: ours }, async () => {
    const root = `${world.cwd}/root-${what.replaceAll(/\W/g, '-')}${what.includes('below') ? '/below' : ''}`
    await world.witness(`R='${root}'; ${make}`, { user: 'root' })
    const owned = await under({ runtimeRoot: root, getSandbox: () => world.composition.sandbox() })
    const error = await rejection(owned.spawn(['true']).done, what, SOON_MS)
    assert.equal(error.code, 'ERR_SUPERVISOR_START', error.message)
    assert.match(error.message, /^the sandbox cannot take the supervisor in: ./)
    await world.witness(`R='${root}'; ${repair}`, { user: 'root' })
    assert.deepEqual(await settled(owned.spawn(['true'])), { exitCode: 0, signal: null })
    await owned.dispose()
  })
}

// https://github.com/gitmoot/gitmoot/issues/1632
test('C21 C63 a missing or stale access token is an error of its own, soon, and no exit (trap K7)', { skip: ours || unless('sandboxd'), timeout: 120_000 }, async () => {
  const sandbox = await world.composition.sandbox()
  for (const token of ['stale-token-of-another-life', undefined]) {
    const altered = Object.create(sandbox, { envdAccessToken: { value: token } })
    const headers = { ...sandbox.connectionConfig.headers }
    delete headers['X-Access-Token']
    Object.defineProperty(altered, 'connectionConfig', { value: { ...sandbox.connectionConfig, headers, apiUrl: sandbox.connectionConfig.apiUrl } })
    const owned = await under({ getSandbox: async () => altered }, { lostAfterMs: 2_000 })
    const before = performance.now()
    const handle = owned.spawn(['true'])
    const error = await rejection(handle.done, `a command with token ${token}`)
    assert.ok(error instanceof Error && typeof error.code === 'string', String(error))
    assert.match(error.message, /credentials|401|unauth/i)
    assert.ok(token === undefined || !error.message.includes(token), 'the token is not repeated')
    assert.ok(performance.now() - before < SOON_MS)
    assert.equal(await gone(handle), true)
    await owned.dispose().catch(() => {})
  }
  const right = await under({ getSandbox: async () => sandbox })
  assert.deepEqual(await settled(right.spawn(['true'])), { exitCode: 0, signal: null }, 'control: the right token works')
  await right.dispose()
})

// https://github.com/cloudflare/sandbox-sdk/issues/873
test('C20 C21 a line that breaks in any way is never an exit (trap C4)', { skip: ours || unless('sandboxd'), timeout: 120_000 }, async () => {
  const { sandboxId } = await world.composition.sandbox()
  for (const how of ['rst', 'fin']) {
    const handle = world.spawn(['sh', '-c', 'for i in $(seq 40); do echo $i; sleep 0.02; done; exit 9'])
    await says(handle, /^5$/m)
    await hook(world.server).cut(sandboxId, how)
    assert.deepEqual(await settled(handle), { exitCode: 9, signal: null }, how)
    assert.equal(text(handle), Array.from({ length: 40 }, (_, at) => `${at + 1}\n`).join(''), how)
  }
})

test('C82 C21 a sandbox that stays unreachable is given up after its bound, and the error says what was lost', { skip: ours || unless('sandboxd'), timeout: 120_000 }, async () => {
  const other = await world.another({ lostAfterMs: 1_500 })
  const handle = other.spawn(['sh', '-c', 'echo up; exec sleep 300'])
  await says(handle, /up/)
  const { sandboxId } = await other.composition.sandbox()
  const admin = hook(world.server)
  await admin.faults(sandboxId, { refuse: [{ path: '/', status: 503 }] })
  await admin.cut(sandboxId)
  const error = await rejection(handle.done, 'the lost command', 60_000)
  assert.ok(error instanceof Error && typeof error.code === 'string')
  assert.match(error.message, /sandbox|lost|reach/i)
  assert.equal(text(handle), 'up\n', 'what came before is kept')
  await admin.faults(sandboxId, {})
  await Sandbox.kill(sandboxId)
  await other.composition.dispose().catch(() => {})
})

// https://github.com/e2b-dev/E2B/pull/1474
matrix('C20 nothing is delivered after settlement around a destruction of its streams (trap C12)', { timeout: 120_000 }, async () => {
  const rounds = 60
  await Promise.all(Array.from({ length: rounds }, async (_, at) => {
    const handle = world.spawn(['bash', '-c', 'printf "\\342\\202"; exit 3'], { stdout: 'pipe' })
    let late = 0
    let over = false
    handle.stdout.on('data', () => { if (over) late += 1 })
    const timer = setTimeout(() => handle.stdout.destroy(), at / 10)
    const outcome = await settled(handle)
    over = true
    clearTimeout(timer)
    assert.ok(outcome.exitCode === 3 || outcome.signal === 'SIGPIPE', JSON.stringify(outcome))
    await new Promise(setImmediate)
    assert.equal(late, 0)
  }))
})

// https://github.com/napi-rs/napi-rs/issues/2047
test('C21 an edge that answers nonsense is an error with a cause, and other handles live on (trap J6)', { skip: ours || unless('sandboxd'), timeout: 120_000 }, async () => {
  const bystander = world.spawn(['sh', '-c', 'read go; exit 4'], { stdin: 'pipe' })
  for (const refusal of [{ status: 200, body: '' }, { status: 200, body: '\u00ff\u00ff\u00ff\u00ff\u00ff{"event":' }, { status: 200, body: '{}' }, { status: 418, body: 'x'.repeat(100_000) }]) {
    const other = await world.another()
    const { sandboxId } = await other.composition.sandbox()
    await other.composition.dispose()
    const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
    await hook(world.server).faults(sandbox.sandboxId, { refuse: [{ path: '/process', ...refusal }] })
    const owned = await under({ getSandbox: async () => sandbox }, { lostAfterMs: 1_000 })
    const error = await rejection(owned.spawn(['true']).done, `an answer of ${refusal.status} ${sandboxId}`)
    assert.ok(error instanceof Error && error.message.length > 0 && error.message.length < 5_000)
    await sandbox.kill()
    await owned.dispose().catch(() => {})
  }
  bystander.stdin.end('\n')
  assert.deepEqual(await settled(bystander), { exitCode: 4, signal: null })
})
