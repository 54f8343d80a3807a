import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENCE_MS, composeAt, gone, mark, matrix, rejection, says, settled, unless, useWorld } from './world.js'
import { until, within } from '../support/deadline.js'
import { under } from './bare.js'
import { hook } from './hook.js'

const world = useWorld()
/** How late a timer may be on a busy machine: less than a second bound would add. */
const TIMERS_MS = 5_000
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

/** What a provider has brought to the usual place. */
const BROUGHT = 'find /home/user/.dsh-e2b -mindepth 1'

/** One provider whose owner has two sandboxes, of which `go` chooses; `worlds` look at each. */
async function acrossTwo() {
  const worlds = [await world.another(), await world.another()]
  const sandboxes = []
  for (const one of worlds) {
    const sandbox = await one.composition.sandbox()
    await one.endProvider()
    sandboxes.push(sandbox)
    one.stalled = async () => {
      await hook(world.server).faults(sandbox.sandboxId, { stall: 'both' })
      return () => hook(world.server).faults(sandbox.sandboxId, {})
    }
  }
  let at = 0
  const both = await under(world.server, { getSandbox: async () => sandboxes[at] })
  both.composition.ctx.logger.error = error => { both.errors.push(error) }
  return { worlds, both, go: to => { at = to } }
}

/** What the first sandbox was asked is on its way there, once a command in the second one has run: what is not would be taken back here. */
async function onItsWay(both, go) {
  await new Promise(setImmediate)
  go(1)
  await settled(both.spawn(['true']))
}

test('C60 a sandbox that cannot be reached is waited for at most the longest grace and ten seconds, and each handle is named', { skip: unless('sandboxd') || unless('native'), timeout: 120_000 }, async () => {
  const { worlds, both, go } = await acrossTwo()
  const graceMs = 1_000
  const handles = [both.spawn(['sleep', '301'], { graceMs }), both.spawn(['cat'], { stdin: 'pipe', graceMs: 500 })]
  handles[1].stdin.write('x')
  await says(handles[1], /x/)
  await until(() => handles[0].pid > 0, PATIENCE_MS, 'the start of the other one')
  const healed = await worlds[0].stalled()
  const opening = both.subprocess.spawnTerminal({ argv: ['top'], cwd: '/', rows: 5, cols: 50, graceMs }).catch(error => error)
  await onItsWay(both, go)
  const before = performance.now()
  await both.dispose()
  const took = performance.now() - before
  await healed()
  assert.ok(took > graceMs && took < graceMs + 10_000 + TIMERS_MS, `${took} ms`)
  assert.ok(await within(opening, PATIENCE_MS, 'the terminal') instanceof Error)
  assert.equal(both.errors.length, 1)
  const messages = both.errors[0].errors.map(({ message }) => message)
  assert.match(messages.join(), /being set up: top\b/)
  assert.match(messages.join(), /to end sleep \(pid \d+\), cat \(pid \d+\)/)
  assert.equal(messages.length, 2)
  for (const one of worlds) await one.composition.dispose()
})

test('C60 what can be reached is ended and removed beside a sandbox that cannot be, and is not named', { skip: unless('sandboxd') || unless('native'), timeout: 120_000 }, async () => {
  const { worlds, both, go } = await acrossTwo()
  const graceMs = 500
  const handles = []
  for (const [at, program] of ['cat', 'tee'].entries()) {
    go(at)
    handles.push(both.spawn([program], { stdin: 'pipe', graceMs }))
    handles[at].stdin.write('x')
    await says(handles[at], /x/)
  }
  assert.notEqual(await worlds[1].witness(BROUGHT), '')
  const healed = await worlds[0].stalled()
  const before = performance.now()
  await both.dispose()
  const took = performance.now() - before
  await healed()
  assert.ok(took < graceMs + 10_000 + TIMERS_MS, `${took} ms`)
  assert.deepEqual(await settled(handles[1]), TERMINATED)
  await worlds[1].untilWitness(OURS, '0')
  await worlds[1].untilWitness(BROUGHT, '')
  assert.equal(both.errors.length, 1)
  assert.match(both.errors[0].message, /could not be reached to end cat \(pid \d+\)$/)
  for (const one of worlds) await one.composition.dispose()
})

test('C60 a terminal that cannot be taken back holds no command up', { skip: unless('sandboxd') || unless('native'), timeout: 120_000 }, async () => {
  const { worlds, both, go } = await acrossTwo()
  await settled(both.spawn(['true']))
  const healed = await worlds[0].stalled()
  const opening = both.subprocess.spawnTerminal({ argv: ['top'], cwd: '/', rows: 5, cols: 50, graceMs: 100 }).catch(error => error)
  await onItsWay(both, go)
  const handle = both.spawn(['cat'], { stdin: 'pipe', graceMs: 100 })
  handle.stdin.write('x')
  await says(handle, /x/)
  const disposed = both.dispose()
  assert.deepEqual(await within(handle.done, TIMERS_MS, 'the end of the command'), TERMINATED)
  await disposed
  await healed()
  assert.ok(await within(opening, PATIENCE_MS, 'the terminal') instanceof Error)
  for (const one of worlds) await one.composition.dispose()
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
