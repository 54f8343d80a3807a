import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { Context } from '@deepseek-ai/cordis'
import { Sandbox } from 'e2b'
import { Provider, under } from './bare.js'
import { hook } from './hook.js'
import { PATIENCE_MS, gone, matrix, settled, unless } from './world.js'
import { within } from '../support/deadline.js'
import { serverEnvironment, startServer } from '../support/server.js'

const ours = unless('native')
const sandboxd = unless('sandboxd')
let server
before(async () => {
  server = await startServer()
  Object.assign(process.env, serverEnvironment(server))
})
after(() => server?.stop())

/** A sandbox of its own for one test. */
async function withSandbox(body) {
  const sandbox = await Sandbox.create({ timeoutMs: 300_000 })
  try {
    await sandbox.commands.run('mkdir -p -m 700 ~/.dsh-e2b')
    await body(sandbox)
  } finally {
    await sandbox.kill().catch(() => {})
  }
}

matrix('D2 the provider wants the owner and fills pollMs in', () => {
  assert.deepEqual([...Provider.inject], ['e2b'])
  assert.equal(Provider.Config({}).pollMs, 20)
})

matrix('D2 D14 a pollMs that is no positive safe integer is refused at load', async () => {
  for (const pollMs of [0, -1, 1.5, NaN, Infinity, 2 ** 53]) {
    const ctx = new Context()
    ctx.logger.error = () => {}
    ctx.reflect.provide('e2b', { cwd: '/', runtimeRoot: '/', getSandbox: () => new Promise(() => {}) })
    assert.throws(() => new Provider(ctx, { pollMs }), /pollMs must be a positive safe integer/, String(pollMs))
  }
})

test('D3 internals may be replaced by a test of the harness', { skip: ours }, async () => {
  await withSandbox(async sandbox => {
    const world = await under(server, { getSandbox: async () => sandbox })
    world.subprocess.internals = { spillDir: '/nowhere' }
    assert.deepEqual(world.subprocess.internals, { spillDir: '/nowhere' })
    assert.deepEqual((await world.run(['true'])).exitCode, 0)
    await world.dispose()
  })
})

test('C83 a supervisor that the image has is used and nothing is uploaded', { skip: ours || sandboxd, timeout: 90_000 }, async () => {
  const packed = readFileSync(new URL(`../../npm/supervisor/linux-${process.arch}.gz`, import.meta.url))
  await withSandbox(async sandbox => {
    await sandbox.files.write('/home/user/bin/supervisor', new Blob([gunzipSync(packed)]))
    await sandbox.commands.run('chmod 755 /home/user/bin/supervisor')
    const admin = hook(server)
    const uploads = async () => (await admin.requests(sandbox.sandboxId))['POST /files'] ?? 0
    const before = await uploads()
    const world = await under(server, { getSandbox: async () => sandbox }, { supervisorPath: '/home/user/bin/supervisor' })
    assert.equal((await world.sh('exit 4')).exitCode, 4)
    assert.equal(await uploads(), before)
    await world.dispose()
    assert.equal((await sandbox.commands.run('test -x /home/user/bin/supervisor; echo $?')).stdout.trim(), '0', 'it stays')
    const uploading = await under(server, { getSandbox: async () => sandbox })
    assert.equal((await uploading.run(['true'])).exitCode, 0)
    assert.equal(await uploads(), before + 1, 'control: without the option there is one upload')
    await uploading.dispose()
  })
})

test('C83 a supervisor that is not there is one clear error', { skip: ours, timeout: 90_000 }, async () => {
  await withSandbox(async sandbox => {
    const world = await under(server, { getSandbox: async () => sandbox }, { supervisorPath: '/nowhere/supervisor', lostAfterMs: 1_000 })
    const handle = world.spawn(['true'])
    await assert.rejects(within(handle.done, PATIENCE_MS, 'the failure'), error => /supervisor/.test(error.message) && typeof error.code === 'string')
    assert.equal(await gone(handle), true)
    await world.dispose().catch(() => {})
  })
})

// https://github.com/e2b-dev/E2B/issues/875
matrix('C24 commands neither shorten nor lengthen the life of a sandbox (trap K4)', { timeout: 90_000 }, async () => {
  await withSandbox(async sandbox => {
    const before = (await sandbox.getInfo()).endAt.getTime()
    const world = await under(server, { getSandbox: async () => sandbox })
    for (let at = 0; at < 5; at += 1) await world.run(['true'])
    assert.equal((await sandbox.getInfo()).endAt.getTime(), before)
    await world.dispose()
    assert.equal((await sandbox.getInfo()).endAt.getTime(), before)
  })
})

// https://github.com/e2b-dev/E2B/issues/884
matrix('C24 an owner that hands another sandbox out later gets its commands there, and cleanup touches the right one (trap K5)', { timeout: 120_000 }, async () => {
  await withSandbox(first => withSandbox(async second => {
    let now = first
    const world = await under(server, { getSandbox: async () => now })
    const where = async () => (await world.run(['sh', '-c', 'echo $E2B_SANDBOX_ID'])).stdout.trim()
    const inFirst = world.spawn(['sleep', '300'])
    assert.equal(await where(), first.sandboxId)
    now = second
    const inSecond = world.spawn(['sleep', '300'])
    assert.equal(await where(), second.sandboxId)
    now = first
    assert.equal(await where(), first.sandboxId, 'and the first again')
    now = second
    await first.kill()
    assert.deepEqual(await settled(inFirst), { exitCode: null, signal: 'SIGKILL' })
    assert.equal(await where(), second.sandboxId, 'the other one lives on')
    await world.dispose()
    assert.equal((await settled(inSecond)).exitCode, null)
    assert.equal((await second.commands.run('pgrep -fc "^sleep 300" || true')).stdout.trim(), '0')
  }))
})

// https://github.com/PocketShell-io/pocketshell/issues/930
test('C35 an upload that is cut again and again is never run half-written (trap K8)', { skip: ours || sandboxd, timeout: 120_000 }, async () => {
  await withSandbox(async sandbox => {
    const admin = hook(server)
    await admin.faults(sandbox.sandboxId, { cut: { everyBytes: 400_000, how: 'rst' } })
    const world = await under(server, { getSandbox: async () => sandbox })
    const handle = world.spawn(['sh', '-c', 'exit 7'])
    const early = await Promise.race([handle.done.then(() => 'ended', () => 'failed'), new Promise(go => setTimeout(() => go('waits'), 1_500))])
    assert.equal(early, 'waits', 'no upload can have come through')
    // Uploads have names of their own; what has the binary's own name can be executed.
    const named = (await sandbox.commands.run("ls -1 ~/.dsh-e2b | grep -xE '[.]supervisor-[0-9a-f]{12}' | cat")).stdout
    assert.equal(named, '', 'nothing has its name before it is whole')
    await admin.faults(sandbox.sandboxId, {})
    assert.deepEqual(await settled(handle), { exitCode: 7, signal: null })
    await world.dispose()
  })
})

test('D2 C61 a key without a value, null in YAML, is a key that is left out', { skip: ours }, async () => {
  const empty = Object.fromEntries(['pollMs', 'startupWaitMs', 'envPrefixes', 'loginEnvironment', 'session', 'supervisorPath', 'orphanTimeoutMs', 'lostAfterMs', 'silenceMs'].map(key => [key, null]))
  await withSandbox(async sandbox => {
    const world = await under(server, { getSandbox: async () => sandbox }, empty)
    assert.equal((await world.run(['true'])).exitCode, 0)
    await world.dispose()
  })
})

test('D2 C63 prefixes that no first frame has room for are refused at load', { skip: ours }, async () => {
  const never = () => new Promise(() => {})
  await assert.rejects(under(server, { getSandbox: never }, { envPrefixes: ['x'.repeat(32 * 1024), 'y'] }), /envPrefixes must be at most 32768 bytes in all/)
  const world = await under(server, { getSandbox: never }, { envPrefixes: ['x'.repeat(32 * 1024)] })
  await world.dispose()
})
