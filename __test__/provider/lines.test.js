import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, bytesOf, useServer } from './support.js'

const used = useServer()

test('H3 nothing is lost or repeated when the connection is cut again and again', async () => {
  const line = await used.openLine()
  const world = await used.load()
  const handle = world.spawn(['sh', '-c', 'i=0; while [ $i -lt 40000 ]; do echo $i; i=$((i+1)); done; cat'], { stdin: 'pipe', stdout: 'pipe' })
  const cutter = setInterval(() => line.cut(), 100)
  const text = bytesOf(handle.stdout)
  const typed = Array.from({ length: 200 }, (_, index) => `typed ${index}\n`)
  for (const words of typed) {
    handle.stdin.write(words)
    await new Promise(resolve => setTimeout(resolve, 5))
  }
  handle.stdin.end()
  const expected = `${Array.from({ length: 40_000 }, (_, index) => `${index}\n`).join('')}${typed.join('')}`
  const got = (await within(text, PATIENCE_MS, 'the stream')).toString()
  clearInterval(cutter)
  assert.ok(line.connections > 5, `${line.connections} connections`)
  assert.equal(got.length, expected.length)
  assert.ok(got === expected)
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 0, signal: null })
})

test('H10 a command runs once, however often the connection breaks while it is started', async () => {
  const line = await used.openLine()
  const world = await used.load()
  await world.run(['true'])
  const cutter = setInterval(() => line.cut(), 20)
  const handles = []
  for (let round = 0; round < 100; round++) {
    handles.push(world.spawn(['sh', '-c', 'echo x >> count']))
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  clearInterval(cutter)
  for (const handle of handles) {
    assert.deepEqual(await within(handle.done, PATIENCE_MS, 'a command'), { exitCode: 0, signal: null })
  }
  assert.equal((await world.run(['wc', '-l', 'count'])).stdout, '100 count\n')
})

test('C30 the grace runs in the sandbox: a silent line does not delay the end', async () => {
  const line = await used.openLine()
  const world = await used.load()
  const handle = world.spawn(['sh', '-c', 'trap "" TERM; echo ready; while :; do date +%s.%N > alive; sleep 0.05; done'], { graceMs: 300 })
  await until(() => handle.collected.stdout.readFrom(0).text === 'ready\n', PATIENCE_MS, 'its trap')
  handle.terminate()
  await new Promise(resolve => setTimeout(resolve, 100))
  line.silent = true
  await new Promise(resolve => setTimeout(resolve, 1500))
  line.silent = false
  line.cut()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: null, signal: 'SIGKILL' })
  const { stdout } = await world.sh('echo $(($(date +%s) - $(cut -d. -f1 alive)))')
  assert.ok(Number(stdout) >= 1, `it ended ${stdout.trim()} s ago`)
})

test('C82 a sandbox that cannot be reached for too long is given up, and says why', async () => {
  const line = await used.openLine()
  const world = await used.load({ lostAfterMs: 500 })
  await world.run(['true'])
  const handle = world.spawn(['sleep', '60'], { stdout: 'pipe' })
  handle.stdout.resume()
  await world.run(['true'])
  await line.close()
  const error = await within(handle.done.then(() => assert.fail('it ended'), error => error), PATIENCE_MS, 'the outcome')
  assert.equal(error.code, 'ERR_SANDBOX_UNREACHABLE')
  assert.match(error.message, /has been unreachable for \d+ s: /)
  await assert.rejects(handle.waitForExit(), { code: 'ERR_SANDBOX_UNREACHABLE' })
})
