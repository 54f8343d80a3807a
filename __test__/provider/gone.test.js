import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, useServer } from './support.js'

const used = useServer()
const KILLED = { exitCode: null, signal: 'SIGKILL' }

test('C24 when the sandbox is deleted its commands end as killed, and later ones are refused', async () => {
  const world = await used.load()
  const handle = world.spawn(['sleep', '600'], { stdout: 'pipe' })
  handle.stdout.resume()
  const ended = new Promise(resolve => handle.stdout.once('end', resolve))
  await world.run(['true'])
  await world.sandbox.kill()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), KILLED)
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'its end'), true)
  await within(ended, PATIENCE_MS, 'the end of its output')
  handle.terminate()
  const late = world.spawn(['true'])
  await assert.rejects(within(late.done, PATIENCE_MS, 'a late command'), { code: 'ERR_SANDBOX_GONE' })
  assert.equal(await late.waitForExit(), true)
  await world.dispose()
  assert.deepEqual(world.errors, [])
})

test('C65 owner and provider may be torn down at the same time', async () => {
  const world = await used.load()
  const handles = Array.from({ length: 5 }, () => world.spawn(['sleep', '600']))
  await world.run(['true'])
  await within(Promise.all([world.owner.dispose(), world.provider.dispose()]), PATIENCE_MS, 'the teardown')
  for (const handle of handles) {
    const { exitCode, signal } = await within(handle.done, PATIENCE_MS, 'an outcome')
    assert.equal(exitCode, null)
    assert.ok(['SIGTERM', 'SIGKILL'].includes(signal), signal)
  }
  assert.deepEqual(world.errors, [])
})

test('C35 a killed supervisor takes its commands with it, and the next command works', async () => {
  const world = await used.load()
  const victim = world.spawn(['sleep', '600'])
  await world.run(['true'])
  const killer = world.spawn(['sh', '-c', 'kill -9 -1'])
  assert.deepEqual(await within(victim.done, PATIENCE_MS, 'the victim'), KILLED)
  assert.equal(await within(victim.waitForExit(), PATIENCE_MS, 'its end'), true)
  await within(killer.done, PATIENCE_MS, 'the killer')
  const { stdout } = await world.sh('echo again; pgrep -c sleep')
  assert.equal(stdout, 'again\n0\n')
})

test('C24 another sandbox of the owner gets its own supervisor', async () => {
  const first = await used.load()
  const second = await used.load()
  let current = first.sandbox
  const ctx = new first.ctx.constructor()
  ctx.provide('e2b', { cwd: '/home/user', runtimeRoot: '/home/user/.dsh-e2b', getSandbox: async () => current })
  const fiber = await ctx.plugin(first.provider.runtime.callback, {})
  const idIn = async () => {
    const handle = ctx.subprocess.spawn({
      argv: ['sh', '-c', 'echo $E2B_SANDBOX_ID'],
      cwd: '/home/user',
      stdio: { stdin: 'ignore', stdout: { maxBytes: 100 }, stderr: { maxBytes: 100 } },
      graceMs: 100,
    })
    await within(handle.done, PATIENCE_MS, 'the command')
    return handle.collected.stdout.readFrom(0).text.trim()
  }
  assert.equal(await idIn(), first.sandbox.sandboxId)
  current = second.sandbox
  assert.equal(await idIn(), second.sandbox.sandboxId)
  current = first.sandbox
  assert.equal(await idIn(), first.sandbox.sandboxId)
  current = Promise.reject(new Error('no sandbox today'))
  const refused = ctx.subprocess.spawn({ argv: ['true'], cwd: '/', stdio: { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' }, graceMs: 100 })
  await assert.rejects(refused.done, /no sandbox today/)
  assert.equal(refused.pid, -1)
  assert.equal(await refused.waitForExit(), true)
  await within(fiber.dispose(), PATIENCE_MS, 'disposal')
})

test('C64 when its commands are done the sandbox holds none of their state, and after disposal nothing of ours', async () => {
  const world = await used.load()
  await Promise.all(Array.from({ length: 20 }, () => world.sh('seq 1 1000', { stdout: { maxBytes: 1 << 20, spill: { maxBytes: 1 << 20 } } })))
  const files = await world.sandbox.commands.run(`find ${world.cwd} -mindepth 2 -name '*.log'`)
  assert.equal(files.stdout, '')
  await within(world.provider.dispose(), PATIENCE_MS, 'disposal')
  await until(async () => {
    const { stdout } = await world.sandbox.commands.run(`ls -A ${world.cwd}/.dsh-e2b; ps -e -o args= | grep -c '[s]upervisor' || true`)
    return stdout === '0\n'
  }, PATIENCE_MS, 'nothing left')
})

test('C34 C60 disposal ends every command and every daemon that left its session', async () => {
  const world = await used.load()
  await world.sh('setsid sleep 777 >/dev/null 2>&1 & sleep 0.1')
  const handle = world.spawn(['sleep', '600'])
  await world.run(['true'])
  const disposing = world.provider.dispose()
  await within(disposing, PATIENCE_MS, 'disposal')
  assert.deepEqual(await handle.done, { exitCode: null, signal: 'SIGTERM' })
  assert.throws(() => world.subprocess.spawn({ argv: ['true'], graceMs: 1, stdio: {} }), /service is disposing/)
  const { stdout } = await world.sandbox.commands.run("ps -e -o args= | grep -c '[s]leep' || true")
  assert.equal(stdout, '0\n')
  assert.deepEqual(world.errors, [])
})
