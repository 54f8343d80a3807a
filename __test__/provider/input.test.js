import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Readable, Writable } from 'node:stream'
import { within } from '../support/deadline.js'
import { PATIENCE_MS, bytesOf, useWorld } from './support.js'

const world = useWorld()

test('E1 C14 an ignored input is empty, a piped one waits for its writer', async () => {
  assert.equal((await world.sh('cat; stat -Lc %F /dev/stdin')).stdout, 'character special file\n')
  const handle = world.spawn(['cat'], { stdin: 'pipe' })
  await new Promise(resolve => setTimeout(resolve, 50))
  handle.stdin.end('later')
  await within(handle.done, PATIENCE_MS, 'cat')
  assert.equal(handle.collected.stdout.readFrom(0).text, 'later')
})

test('C14 bytes arrive in order and complete, with backpressure', async () => {
  const data = randomBytes(20_000_000)
  const handle = world.spawn(['sha256sum'], { stdin: 'pipe' })
  let held = 0
  for (let at = 0; at < data.length; at += 100_000) {
    if (!handle.stdin.write(data.subarray(at, at + 100_000))) {
      held++
      await new Promise(resolve => handle.stdin.once('drain', resolve))
    }
  }
  handle.stdin.end()
  await within(handle.done, PATIENCE_MS, 'the command')
  assert.equal(handle.collected.stdout.readFrom(0).text.slice(0, 64), createHash('sha256').update(data).digest('hex'))
  assert.ok(held > 0)
})

test('C14 a program that does not read holds its writer', async () => {
  const handle = world.spawn(['sleep', '60'], { stdin: 'pipe' })
  let written = 0
  const chunk = Buffer.alloc(1 << 20)
  const blocked = new Promise(resolve => {
    const next = () => {
      handle.stdin.write(chunk, error => {
        if (error) return
        written++
        next()
      })
    }
    next()
    setTimeout(resolve, 500)
  })
  await blocked
  assert.ok(written < 16, `${written} MiB were taken`)
  handle.terminate()
  await within(handle.done, PATIENCE_MS, 'the outcome')
})

test('C14 E3 a write after the program closed its input fails with EPIPE, and ends nothing else', async () => {
  const handle = world.spawn(['sh', '-c', 'exec 0<&-; sleep 60'], { stdin: 'pipe' })
  const failed = new Promise(resolve => handle.stdin.once('error', resolve))
  const write = () => handle.stdin.write('x', error => { if (!error) setTimeout(write, 10) })
  write()
  const error = await within(failed, PATIENCE_MS, 'the error')
  assert.equal(error.code, 'EPIPE')
  assert.equal(error.syscall, 'write')
  handle.terminate()
  await within(handle.done, PATIENCE_MS, 'the outcome')
})

test('C14 E3 E6 data that a program does not read is no error', async () => {
  const big = 'x'.repeat(16 * 1024 * 1024)
  assert.equal((await world.sh('exit 7', { stdin: { data: big } })).exitCode, 7)
  assert.equal((await world.run(['head', '-c', '1'], { stdin: { data: big } })).stdout, 'x')
  for (let round = 0; round < 100; round++) {
    assert.equal((await world.run(['true'], { stdin: { data: 'x' } })).exitCode, 0)
  }
})

test('C14 data arrives whole as UTF-8, then the end', async () => {
  const data = 'žluťoučký 你好\n'.repeat(100_000)
  const { stdout } = await world.run(['sha256sum'], { stdin: { data } })
  assert.equal(stdout.slice(0, 64), createHash('sha256').update(data, 'utf8').digest('hex'))
})

test('D20 pipes are Node streams that the web streams accept', async () => {
  const handle = world.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' })
  const writer = Writable.toWeb(handle.stdin).getWriter()
  const reader = Readable.toWeb(handle.stdout)
  await writer.write(Buffer.from('over the web'))
  await writer.close()
  assert.equal(Buffer.from(await bytesOf(reader)).toString(), 'over the web')
  await within(handle.done, PATIENCE_MS, 'cat')
})

test('E7 an input that a background process holds open does not hold the outcome', async () => {
  const data = 'x'.repeat(8 * 1024 * 1024)
  const { exitCode, handle } = await world.run(['bash', '-c', 'sleep 600 <&0 & exit 3'], { stdin: { data }, graceMs: 500 })
  assert.equal(exitCode, 3)
  handle.terminate()
  await within(handle.waitForExit(), PATIENCE_MS, 'the end')
})
