import assert from 'node:assert/strict'
import { test } from 'node:test'
import { end, gone, mark, rejection, settled, unless, useWorld, SOON_MS } from './world.js'
import { hook } from './hook.js'

const world = useWorld()
/** Another user's processes are ended by the daemon's root, to whom a supervisor is brought: it can be kept away. */
const options = { skip: unless('sandboxd') || unless('native'), timeout: 90_000 }

/** A command with a member of root's, whose end is prevented for now; undefined where there is one account only. */
async function withSurvivor() {
  if ((await world.witness('sudo -n id -u')).trim() !== '0') return undefined
  const n = mark()
  const handle = world.spawn(['bash', '-c', `sudo sleep ${n} & sleep ${n}`], { graceMs: 300 })
  await world.untilWitness(`ps -o user= -p $(pgrep -f '^sleep ${n}' | paste -sd,) | sort | paste -sd,`, 'root,user')
  const { sandboxId } = await world.composition.sandbox()
  await hook(world.server).faults(sandboxId, { refuse: [{ path: '/files', status: 500 }] })
  return { handle, n, allow: () => hook(world.server).faults(sandboxId, {}) }
}

test('C32 C30 a member that could not be ended shows in every waitForExit, and terminate tries again until it is gone', options, async () => {
  const survivor = await withSurvivor()
  if (survivor === undefined) return
  const { handle, n, allow } = survivor
  handle.terminate()
  const error = await rejection(handle.waitForExit(), 'the wait for a survivor')
  assert.equal(error.code, 'ERR_SUBPROCESS_SURVIVED')
  assert.match(error.message, /could not end process \d+ of user 0 \(EPERM\)/)
  assert.equal((await rejection(handle.waitForExit(), 'another wait')).code, error.code)
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGTERM' }, 'the program itself has ended')
  assert.equal(await world.sleepers(n), 1)
  await allow()
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(n), 0)
  handle.terminate()
  assert.equal(await gone(handle), true, 'a proven end stays')
})

test('C32 a survivor that ends by itself is gone at the next try', options, async () => {
  const survivor = await withSurvivor()
  if (survivor === undefined) return
  const { handle, n, allow } = survivor
  handle.terminate()
  assert.equal((await rejection(handle.waitForExit(), 'the wait for a survivor')).code, 'ERR_SUBPROCESS_SURVIVED')
  await world.witness(`pkill -KILL -f '^sleep ${n}'`, { user: 'root' })
  handle.terminate()
  assert.equal(await gone(handle), true, 'though nobody could be ended by root')
  await allow()
  await settled(handle)
})

test('C32 C60 disposal throws what survived, ends everything else, and names the process', options, async () => {
  const other = await world.another()
  const n = mark()
  if ((await other.witness('sudo -n id -u')).trim() !== '0') return
  const stubborn = other.spawn(['bash', '-c', `sudo sleep ${n} & sleep ${n}`], { graceMs: 300 })
  const simple = other.spawn(['sleep', n])
  await other.untilSleepers(n, 3)
  const { sandboxId } = await other.composition.sandbox()
  await hook(world.server).faults(sandboxId, { refuse: [{ path: '/files', status: 500 }] })
  await other.endProvider()
  await hook(world.server).faults(sandboxId, {})
  assert.ok(other.errors.length > 0, 'the disposal throws')
  const all = other.errors.flatMap(error => (error instanceof AggregateError ? error.errors : [error]))
  assert.ok(all.every(error => error.code === 'ERR_SUBPROCESS_SURVIVED'), all.join('; '))
  assert.deepEqual(await settled(simple), { exitCode: null, signal: 'SIGTERM' })
  assert.deepEqual(await settled(stubborn), { exitCode: null, signal: 'SIGTERM' })
  assert.equal(await other.sleepers(n), 1)
  await other.composition.dispose()
})

test('control: where nobody prevents it, the member of root is ended at once', options, async () => {
  const survivor = await withSurvivor()
  if (survivor === undefined) return
  const { handle, allow } = survivor
  await allow()
  const before = performance.now()
  await end(handle)
  assert.ok(performance.now() - before < SOON_MS)
})
