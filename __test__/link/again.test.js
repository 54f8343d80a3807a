import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { drain, gone, mark, rejection, says, settled, useLink } from './world.js'
import { until } from '../support/deadline.js'

const link = useLink()
const secret = () => randomBytes(24).toString('hex')

test('C80 a later process with the same secret finds the running commands, with their output from where the former one stopped', { timeout: 90_000 }, async () => {
  const session = secret()
  const first = await link.open({ session })
  const piped = first.spawn(['sh', '-c', 'i=0; while [ ! -e stop ]; do i=$((i+1)); echo $i; sleep .01; done; exit 7'], { stdout: 'pipe' })
  const tailed = first.spawn(['sh', '-c', 'echo early; while [ ! -e stop ]; do sleep .05; done; echo late; exit 8'])
  await says(tailed, /early/)
  let before = ''
  piped.stdout.setEncoding('utf8').on('data', part => { before += part })
  await until(() => before.split('\n').length > 20, 10_000, 'some numbers')
  first.subprocess.detach()
  assert.match((await rejection(piped.done)).message, /closed/)
  await first.dispose()
  assert.deepEqual(first.errors, [])
  // What had come is read to its end.
  await new Promise(resolve => setTimeout(resolve, 300))

  const second = await link.open({ session }, { sandbox: first.direct })
  const running = await second.subprocess.listRunning()
  assert.deepEqual(running.map(({ pid }) => pid).sort(), [piped.pid, tailed.pid].sort())
  assert.deepEqual(running.find(({ pid }) => pid === tailed.pid).argv.slice(0, 2), ['sh', '-c'])
  const idOf = handle => running.find(({ pid }) => pid === handle.pid).id
  const again = await second.subprocess.attachTo(idOf(piped), { stdout: 'pipe' })
  assert.equal(again.pid, piped.pid)
  const later = drain(again.stdout)
  const tail = await second.subprocess.attachTo(idOf(tailed))
  assert.equal((await second.sh('echo beside')).stdout, 'beside\n')
  await first.witness('touch stop')
  assert.deepEqual(await settled(again), { exitCode: 7, signal: null })
  assert.deepEqual(await settled(tail), { exitCode: 8, signal: null })
  assert.equal(await gone(again), true)
  const all = before + String(await later)
  const numbers = all.trim().split('\n').map(Number)
  // Bytes that the former process had received and not acknowledged come again; none is missing.
  const missing = numbers.filter((n, i) => i > 0 && n > numbers[i - 1] + 1)
  assert.deepEqual(missing, [])
  assert.equal(numbers[0], 1)
  assert.match(tail.collected.stdout.readFrom(0).text, /late\n$/)
  assert.deepEqual(await second.subprocess.listRunning(), [])
})

test('C80 what is found again can be ended, and a secret of another harness finds nothing', { timeout: 90_000 }, async () => {
  const session = secret()
  const first = await link.open({ session })
  const sleep = mark()
  const handle = first.spawn(['sh', '-c', `sleep ${sleep} & echo up; wait`])
  await says(handle, /up/)
  first.subprocess.detach()
  const stranger = await link.open({ session: secret() }, { sandbox: first.direct })
  assert.deepEqual(await stranger.subprocess.listRunning(), [])
  const second = await link.open({ session }, { sandbox: first.direct })
  const [{ id }] = await second.subprocess.listRunning()
  await assert.rejects(second.subprocess.attachTo(id + 1), /no running command/)
  const again = await second.subprocess.attachTo(id, { graceMs: 500 })
  again.terminate()
  assert.deepEqual(await settled(again), { exitCode: null, signal: 'SIGTERM' })
  assert.equal(await gone(again), true)
  assert.equal(await second.sleepers(sleep), 0)
})

test('C80 disposal of a later process ends what it did not attach to, too', { timeout: 90_000 }, async () => {
  const session = secret()
  const first = await link.open({ session })
  const sleep = mark()
  const handle = first.spawn(['sh', '-c', `echo up; sleep ${sleep}`])
  await says(handle, /up/)
  first.subprocess.detach()
  const second = await link.open({ session }, { sandbox: first.direct })
  assert.equal((await second.subprocess.listRunning()).length, 1)
  await second.dispose()
  assert.deepEqual(second.errors, [])
  assert.equal(await first.sleepers(sleep), 0)
})

test('C80 without a secret nothing can be found, and one that can be guessed is refused', async () => {
  const world = await link.open()
  await assert.rejects(world.subprocess.listRunning(), /needs the configuration key session/)
  await assert.rejects(link.open({ session: 'short' }), /at least 32 characters/)
})

test('C64 C80 what waits to be started when a service lets go is not started, and the service asks nothing any more', { timeout: 90_000 }, async () => {
  const session = secret()
  const first = await link.open({ session })
  const sleep = mark()
  const handle = first.spawn(['sleep', sleep])
  const terminal = first.subprocess.spawnTerminal({ argv: ['sleep', sleep], cwd: '/', rows: 2, cols: 2, graceMs: 100 })
  first.subprocess.detach()
  assert.match((await rejection(settled(handle))).message, /service is disposing/)
  assert.match((await rejection(terminal)).message, /service is disposing/)
  await assert.rejects(first.subprocess.listRunning(), /service is disposing/)
  await first.dispose()
  const second = await link.open({ session }, { sandbox: first.direct })
  assert.deepEqual(await second.subprocess.listRunning(), [])
  assert.equal(await second.sleepers(sleep), 0)
})
