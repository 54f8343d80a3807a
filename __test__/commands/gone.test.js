import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Sandbox } from 'e2b'
import { PATIENCE_MS, PROVIDER, gone, matrix, rejection, says, settled, text, unless, useWorld } from './world.js'
import { hook } from './hook.js'
import { within } from '../support/deadline.js'

const world = useWorld()
const KILLED = { exitCode: null, signal: 'SIGKILL' }

/** A composition whose sandbox is deleted elsewhere while commands run in it. */
async function deleted(options = {}) {
  const other = await world.another(options)
  const handles = {
    collected: other.spawn(['sh', '-c', 'echo up; exec sleep 300']),
    raw: other.spawn(['sh', '-c', 'echo up; exec sleep 300'], { stdout: 'pipe', stderr: 'pipe' }),
    fed: other.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' }),
  }
  await says(handles.collected, /up/)
  await within(once(handles.raw.stdout, 'data'), PATIENCE_MS, 'the first bytes')
  const { sandboxId } = await other.composition.sandbox()
  assert.equal(await Sandbox.kill(sandboxId), true)
  return { other, handles }
}

matrix('C24 commands of a sandbox that was deleted elsewhere end as killed, and termination does nothing', { timeout: 120_000 }, async () => {
  const { other, handles } = await deleted()
  for (const [what, handle] of Object.entries(handles)) {
    handle.stdout?.resume()
    handle.stderr?.resume()
    assert.deepEqual(await settled(handle, what), KILLED, what)
    assert.equal(await gone(handle), true)
    handle.terminate()
    assert.deepEqual(await settled(handle), KILLED)
  }
  assert.equal(text(handles.collected), 'up\n', 'what came before is kept')
  await other.composition.dispose()
})

matrix('C24 raw streams of a sandbox that is gone end, and writes to it fail', { timeout: 120_000 }, async () => {
  const { other, handles } = await deleted()
  handles.raw.stderr.resume()
  const failed = once(handles.fed.stdin, 'error')
  handles.fed.stdout.resume()
  const ends = [handles.raw.stdout, handles.raw.stderr, handles.fed.stdout].map(stream => stream.closed || once(stream, 'close'))
  await settled(handles.fed)
  handles.fed.stdin.write('nobody is there')
  const [error] = await within(failed, PATIENCE_MS, 'the error of a write')
  assert.equal(error.code, 'EPIPE')
  await within(Promise.all(ends), PATIENCE_MS, 'the end of the streams')
  await other.composition.dispose()
})

matrix('C24 a spawn into a sandbox that is gone rejects, and its tree is gone', { timeout: 120_000 }, async () => {
  const { other, handles } = await deleted()
  // A command that is on its way while nobody knows of the end yet may be told as killed by it.
  await settled(handles.collected)
  for (let at = 0; at < 3; at += 1) {
    const handle = other.spawn(['true'])
    const error = await rejection(handle.done, 'a command in a dead sandbox')
    assert.ok(error instanceof Error && error.message.length > 0)
    if (PROVIDER === 'native') assert.equal(error.code, 'ERR_SANDBOX_GONE')
    assert.equal(handle.pid, -1)
    assert.equal(await gone(handle), true)
  }
  await assert.rejects(within(other.subprocess.resolveExecutable('sh'), PATIENCE_MS, 'a lookup'))
  await other.composition.dispose()
})

// https://github.com/hackerai-tech/hackerai/pull/374
matrix('C24 C30 terminate after the sandbox was deleted proves the end instead of assuming it (trap G10)', { timeout: 120_000 }, async () => {
  const { other, handles } = await deleted()
  handles.collected.terminate()
  assert.equal(await gone(handles.collected), true)
  assert.deepEqual(await settled(handles.collected), KILLED)
  await other.composition.dispose()
})

matrix('C24 C60 disposal in a sandbox that is gone is no error', { timeout: 120_000 }, async () => {
  const { other, handles } = await deleted()
  await other.composition.dispose()
  for (const handle of Object.values(handles)) {
    handle.stdout?.resume()
    handle.stderr?.resume()
    const { exitCode } = await settled(handle)
    assert.equal(exitCode, null)
    assert.equal(await gone(handle), true)
  }
  assert.deepEqual(other.errors, [])
})

test('C24 the data plane\'s 502 alone ends nothing', { skip: unless('sandboxd') || unless('native'), timeout: 120_000 }, async () => {
  const other = await world.another()
  const handle = other.spawn(['sh', '-c', 'for i in $(seq 1 30); do echo $i; sleep 0.1; done; exit 9'])
  await says(handle, /^3$/m)
  const { sandboxId } = await other.composition.sandbox()
  const admin = hook(world.server)
  await admin.faults(sandboxId, { refuse: [{ path: '/', status: 502, body: JSON.stringify({ sandboxId, message: 'The sandbox was not found', code: 502 }) }] })
  await admin.cut(sandboxId)
  const early = await Promise.race([handle.done.then(() => 'ended'), new Promise(go => setTimeout(() => go('waits'), 1_500))])
  assert.equal(early, 'waits')
  await admin.faults(sandboxId, {})
  assert.deepEqual(await settled(handle), { exitCode: 9, signal: null })
  assert.equal(text(handle), Array.from({ length: 30 }, (_, at) => `${at + 1}\n`).join(''))
  await other.composition.dispose()
})

test('control: the same command in a sandbox that nobody deletes is not told as killed', async () => {
  const handle = world.spawn(['sh', '-c', 'echo up; sleep 0.5; exit 9'])
  await says(handle, /up/)
  assert.deepEqual(await settled(handle), { exitCode: 9, signal: null })
})
