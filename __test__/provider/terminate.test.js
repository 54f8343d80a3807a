import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, useWorld } from './support.js'

const world = useWorld()
const isAlive = async pid => (await world.sh(`kill -0 ${pid} 2>/dev/null && echo alive`)).stdout === 'alive\n'

test('C30 terminate sends SIGTERM, and after the grace SIGKILL', async () => {
  const polite = world.spawn(['sleep', '60'])
  polite.terminate()
  polite.terminate()
  assert.deepEqual(await within(polite.done, PATIENCE_MS, 'a polite program'), { exitCode: null, signal: 'SIGTERM' })
  const stubborn = world.spawn(['sh', '-c', 'trap "" TERM; echo ready; while :; do sleep 0.1; done'], { graceMs: 300 })
  await until(() => stubborn.collected.stdout.readFrom(0).text === 'ready\n', PATIENCE_MS, 'its trap')
  stubborn.terminate()
  assert.deepEqual(await within(stubborn.done, PATIENCE_MS, 'a stubborn program'), { exitCode: null, signal: 'SIGKILL' })
  assert.equal(await stubborn.waitForExit(), true)
})

test('C13 of the traps: a handler of SIGTERM decides the exit code', async () => {
  const handle = world.spawn(['bash', '-c', 'trap "exit 9" TERM; echo ready; while :; do sleep .1; done'])
  await until(() => handle.collected.stdout.readFrom(0).text === 'ready\n', PATIENCE_MS, 'its trap')
  handle.terminate()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 9, signal: null })
})

test('C30 the last words of a handler arrive on a raw pipe', async () => {
  const handle = world.spawn(['bash', '-c', 'trap "echo bye; exit 0" TERM; echo ready; while :; do sleep .1; done'], { stdout: 'pipe' })
  let text = ''
  handle.stdout.on('data', chunk => { text += chunk })
  await until(() => text === 'ready\n', PATIENCE_MS, 'the first words')
  handle.terminate()
  await within(handle.done, PATIENCE_MS, 'the outcome')
  await until(() => text === 'ready\nbye\n', PATIENCE_MS, 'the last words')
})

test('C30 G1 every group of the session is ended', async () => {
  const handle = world.spawn(['bash', '-c', 'set -m; sleep 500 & timeout 500 sleep 501 & echo $! ; wait'])
  await until(() => /\d+\n/.test(handle.collected.stdout.readFrom(0).text), PATIENCE_MS, 'the job')
  const job = handle.collected.stdout.readFrom(0).text.trim()
  assert.ok(await isAlive(job))
  handle.terminate()
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
  assert.ok(!await isAlive(job))
})

test('C30 the signal of the spec terminates, and its listener goes', async () => {
  const controller = new AbortController()
  const listeners = new Set()
  const { signal } = controller
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (type, listener, options) => { listeners.add(listener); add(type, listener, options) }
  signal.removeEventListener = (type, listener) => { listeners.delete(listener); remove(type, listener) }
  await within(world.spawn(['true'], { signal }).done, PATIENCE_MS, 'a command')
  assert.equal(listeners.size, 0)
  const handle = world.spawn(['sleep', '60'], { signal })
  controller.abort()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: null, signal: 'SIGTERM' })
})

test('C30 terminated before its start it ends as terminated, and nothing of it runs', async () => {
  for (let round = 0; round < 20; round++) {
    const handle = world.spawn(['sh', '-c', `echo ran >> ${world.cwd}/called-off`])
    handle.terminate()
    assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: null, signal: 'SIGTERM' })
    assert.equal(await handle.waitForExit(), true)
  }
  assert.notEqual((await world.run(['cat', 'called-off'])).exitCode, 0)
})

test('I7 a thousand starts that were called off leave the pids for others', async () => {
  const handles = Array.from({ length: 1000 }, () => world.spawn(['true']))
  for (const handle of handles) handle.terminate()
  await within(Promise.all(handles.map(handle => handle.done)), PATIENCE_MS, 'all of them')
  const next = world.spawn(['true'])
  assert.ok(next.pid > 1)
  await within(next.done, PATIENCE_MS, 'the next one')
})

test('C31 waiting for the exit gives up when its signal fires', async () => {
  const handle = world.spawn(['sleep', '60'])
  assert.equal(await handle.waitForExit(AbortSignal.abort()), false)
  const before = performance.now()
  assert.equal(await handle.waitForExit(AbortSignal.timeout(50)), false)
  assert.ok(performance.now() - before < 5000)
  handle.terminate()
  assert.equal(await within(handle.waitForExit(new AbortController().signal), PATIENCE_MS, 'the end'), true)
  assert.equal(await handle.waitForExit(AbortSignal.abort()), true, 'what is known needs no waiting')
})

test('G2 a pipeline whose shell is gone is ended whole', async () => {
  const handle = world.spawn(['bash', '-c', 'sleep 600 | cat; true'], { stdout: 'pipe', graceMs: 1000 })
  handle.stdout.resume()
  await until(() => handle.pid > 0, PATIENCE_MS, 'a pid')
  handle.terminate()
  await within(handle.done, PATIENCE_MS, 'the outcome')
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
})
