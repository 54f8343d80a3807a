import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENCE_MS, SOON_MS, composeAt, gone, mark, matrix, rejection, says, settled, unless, useWorld } from './world.js'
import { within } from '../support/deadline.js'
import { under } from './bare.js'
import { hook } from './hook.js'

const world = useWorld()
const TERMINATED = { exitCode: null, signal: 'SIGTERM' }

/** Every process of a provider and its commands that the witness sees. */
const OURS = 'pgrep -f "[s]upervisor" | wc -l'

matrix('C60 C64 disposal ends every command, waits for each, and leaves nothing of ours', { timeout: 120_000 }, async () => {
  const other = await world.another()
  const n = mark()
  const handles = [
    other.spawn(['sleep', n]),
    other.spawn(['bash', '-c', `sleep ${n} & sleep ${n}`]),
    other.spawn(['bash', '-c', `trap "" TERM; echo up; while :; do sleep ${n}; done`], { graceMs: 300 }),
    other.spawn(['bash', '-c', `setsid sleep ${n} & exit 0`]),
    other.spawn(['sh', '-c', `yes; sleep ${n}`], { stdout: 'pipe' }),
    other.spawn(['cat'], { stdin: 'pipe' }),
  ]
  await says(handles[2], /up/)
  await other.untilSleepers(n, 5)
  await other.endProvider()
  for (const handle of handles) {
    assert.equal(await gone(handle), true)
    handle.stdout?.resume()
    const { exitCode, signal } = await settled(handle)
    assert.ok(exitCode === 0 || signal !== null)
  }
  assert.equal(await other.sleepers(n), 0, 'members, ignorers and those who left the session')
  await other.untilWitness(OURS, '0')
  await other.untilWitness(`find ${other.cwd}/.dsh-e2b -mindepth 1`, '')
  await other.composition.dispose()
  assert.deepEqual(other.errors, [])
})

matrix('C34 a process that left its session is killed at disposal, not before', { timeout: 90_000 }, async () => {
  const other = await world.another()
  const n = mark()
  const handle = other.spawn(['bash', '-c', `setsid sh -c 'trap "" TERM HUP; sleep ${n} & sleep ${n}' >/dev/null 2>&1 & exit 0`])
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
  assert.equal(await gone(handle), true)
  await other.untilSleepers(n, 2)
  await other.endProvider()
  assert.equal(await other.sleepers(n), 0)
  await other.composition.dispose()
})

matrix('C60 disposal at every moment of a start ends the command and leaves nothing', { timeout: 240_000 }, async () => {
  for (const delay of [undefined, 0, 1, 2, 4, 8, 16]) {
    const other = await world.another()
    const n = mark()
    const handles = Array.from({ length: 6 }, () => other.spawn(['sleep', n]))
    if (delay !== undefined) await new Promise(go => setTimeout(go, delay))
    await other.endProvider()
    for (const handle of handles) {
      assert.deepEqual(await settled(handle), TERMINATED, `after ${delay} ms`)
      assert.equal(await gone(handle), true)
    }
    assert.equal(await other.sleepers(n), 0)
    await other.untilWitness(OURS, '0')
    await other.composition.dispose()
  }
})

matrix('C60 disposal before the sandbox is ready ends what waits for it', { timeout: 120_000 }, async () => {
  for (const spawned of [0, 3]) {
    const composition = await composeAt(world.server)
    const handles = Array.from({ length: spawned }, () => composition.subprocess.spawn({
      argv: ['sleep', '300'], cwd: composition.cwd, graceMs: 500, stdio: { stdin: 'ignore', stdout: { maxBytes: 1 }, stderr: { maxBytes: 1 } },
    }))
    await composition.dispose()
    for (const handle of handles) {
      await settled(handle).then(outcome => assert.deepEqual(outcome, TERMINATED), error => assert.match(error.message, /dispos/))
      assert.equal(await gone(handle), true)
    }
  }
})

matrix('C65 owner and provider that are torn down together end without an error', { timeout: 120_000 }, async () => {
  for (let round = 0; round < 3; round += 1) {
    const other = await world.another()
    const handle = other.spawn(['sleep', '300'])
    const unhandled = []
    const note = reason => unhandled.push(reason)
    process.on('unhandledRejection', note)
    await other.composition.dispose()
    const { exitCode, signal } = await settled(handle)
    assert.ok(exitCode === null && (signal === 'SIGTERM' || signal === 'SIGKILL'))
    assert.equal(await gone(handle), true)
    await new Promise(setImmediate)
    process.off('unhandledRejection', note)
    assert.deepEqual(unhandled, [])
    assert.deepEqual(other.errors, [])
  }
})

matrix('C60 a terminal call, a lookup and a spawn that wait while disposal begins all end', { timeout: 90_000 }, async () => {
  const other = await world.another()
  const lookup = other.subprocess.resolveExecutable('sh').then(() => 'found', error => error)
  const handle = other.spawn(['sleep', '300'])
  await other.endProvider()
  const answer = await within(lookup, PATIENCE_MS, 'the lookup')
  assert.ok(answer === 'found' || answer instanceof Error)
  assert.deepEqual(await settled(handle), TERMINATED)
  const late = await rejection((async () => other.subprocess.resolveExecutable('sh'))(), 'a lookup after disposal').catch(() => undefined)
  assert.ok(late === undefined || late instanceof Error)
  await other.composition.dispose()
})

test('C60 a sandbox that cannot be reached is waited for at most the longest grace and ten seconds, and each handle is named', { skip: unless('sandboxd') || unless('native'), timeout: 120_000 }, async () => {
  const other = await world.another()
  const graceMs = 1_000
  const handles = [other.spawn(['sleep', '301'], { graceMs }), other.spawn(['cat'], { stdin: 'pipe', graceMs: 500 })]
  handles[1].stdin.write('x')
  await says(handles[1], /x/)
  const { sandboxId } = await other.composition.sandbox()
  const admin = hook(world.server)
  await admin.faults(sandboxId, { stall: 'both' })
  const before = performance.now()
  await other.endProvider()
  const took = performance.now() - before
  assert.equal(other.errors.length, 1)
  const [error] = other.errors
  await admin.faults(sandboxId, {})
  assert.ok(took > graceMs && took < graceMs + 10_000 + SOON_MS, `${took} ms`)
  assert.match(error.message, /sleep/)
  assert.match(error.message, /cat/)
  await other.composition.dispose().catch(() => {})
})

test('C60 C64 a sandbox that is there only after the disposal gets nothing of ours', { skip: unless('native'), timeout: 120_000 }, async () => {
  const other = await world.another()
  const sandbox = await other.composition.sandbox()
  await other.endProvider()
  let give
  const late = new Promise(resolve => { give = () => resolve(sandbox) })
  const early = await under(world.server, { cwd: other.cwd, getSandbox: () => late })
  const handle = early.spawn(['sleep', '300'])
  await early.dispose()
  give()
  assert.equal(await gone(handle), true)
  await settled(handle).catch(() => {})
  await assert.rejects(early.subprocess.resolveExecutable('sh'), /service is disposing/)
  await other.untilWitness(OURS, '0')
  await other.untilWitness(`find ${other.cwd}/.dsh-e2b -mindepth 1`, '')
  await other.composition.dispose()
})
