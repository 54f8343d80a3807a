import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, bytesOf, useWorld } from './support.js'

const world = useWorld()
const sha256 = bytes => createHash('sha256').update(bytes).digest('hex')

test('D20 a handle has what was asked for and nothing else', async () => {
  const piped = world.spawn(['true'], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  assert.deepEqual(piped.collected, {})
  piped.stdin.end()
  piped.stdout.resume()
  piped.stderr.resume()
  await within(piped.done, PATIENCE_MS, 'the command')
  const collected = world.spawn(['true'], { stderr: 'pipe' })
  assert.deepEqual(Object.keys(collected.collected), ['stdout'])
  assert.equal(collected.stdin, undefined)
  assert.equal(collected.stdout, undefined)
  collected.stderr.resume()
  await within(collected.done, PATIENCE_MS, 'the command')
})

test('C15 A11 raw bytes arrive as they were written', async () => {
  const handle = world.spawn(['sh', '-c', 'head -c 10485760 /dev/urandom | tee random'], { stdout: 'pipe' })
  const bytes = await within(bytesOf(handle.stdout), PATIENCE_MS, 'the stream')
  assert.equal(bytes.length, 10_485_760)
  const { stdout } = await world.run(['sha256sum', 'random'])
  assert.equal(stdout.slice(0, 64), sha256(bytes))
})

test('A8 C15 a slow reader gets everything, long after the program has gone', async () => {
  const handle = world.spawn(['head', '-c', '18933764', '/dev/zero'], { stdout: 'pipe' })
  let length = 0
  let chunks = 0
  for await (const chunk of handle.stdout) {
    length += chunk.length
    // The consumer lags behind now and then.
    if (++chunks % 8 === 0) await new Promise(resolve => setTimeout(resolve, 5))
  }
  assert.equal(length, 18_933_764)
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 0, signal: null })
})

test('C15 an unread output stalls neither the other output, nor other commands, nor the end', async () => {
  const handle = world.spawn(['sh', '-c', 'echo side >&2; head -c 50000000 /dev/zero'], { stdout: 'pipe' })
  await until(() => handle.collected.stderr.readFrom(0).text === 'side\n', PATIENCE_MS, 'the other output')
  const { stdout } = await world.run(['echo', 'hi'])
  assert.equal(stdout, 'hi\n')
  handle.terminate()
  const { signal } = await within(handle.done, PATIENCE_MS, 'the outcome')
  assert.ok(['SIGTERM', 'SIGPIPE'].includes(signal), signal)
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
})

test('A1 both outputs are complete to the last byte when the outcome comes', async () => {
  const tail = { maxBytes: 16 * 1024 * 1024 }
  const expected = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join('')
  const runs = Array.from({ length: 20 }, () => world.sh('seq 1 20000; seq 1 20000 >&2; exit 3', { stdout: tail, stderr: tail }))
  for (const { exitCode, stdout, stderr } of await Promise.all(runs)) {
    assert.equal(exitCode, 3)
    assert.ok(stdout === expected && stderr === expected)
  }
})

test('C17 reads by offset consume nothing and say what is missing', async () => {
  const { handle } = await world.sh('printf 0123456789', { stdout: { maxBytes: 4 } })
  const reader = handle.collected.stdout
  assert.deepEqual(reader.readFrom(0), { text: '6789', nextOffset: 10, lossy: true })
  assert.deepEqual(reader.readFrom(5), { text: '6789', nextOffset: 10, lossy: true })
  assert.deepEqual(reader.readFrom(6), { text: '6789', nextOffset: 10, lossy: false })
  assert.deepEqual(reader.readFrom(8), { text: '89', nextOffset: 10, lossy: false })
  assert.deepEqual(reader.readFrom(10), { text: '', nextOffset: 10, lossy: false })
})

test('A10 text decodes as Buffer#toString does, whatever the pieces were', async () => {
  const { stdout } = await world.sh("printf '\\342\\202'; sleep 0.1; printf '\\254'; printf '\\342\\202'")
  assert.equal(stdout, Buffer.from([0xe2, 0x82, 0xac, 0xe2, 0x82]).toString('utf8'))
})

test('C17 a spill file is whole, private, and gone when nobody needs it', async () => {
  const spill = { maxBytes: 1_000_000 }
  const kept = await world.sh('seq 1 30000', { stdout: { maxBytes: 1000, spill } })
  const { spillPath, lossy, nextOffset } = kept.handle.collected.stdout.readFrom(0)
  assert.ok(lossy)
  const seen = await world.sh(`stat -c '%a %s' ${spillPath}; stat -c %a $(dirname ${spillPath}); head -n 2 ${spillPath}`)
  assert.equal(seen.stdout, `600 ${nextOffset}\n700\n1\n2\n`)
  const fits = await world.sh('echo short', { stdout: { maxBytes: 1000, spill } })
  assert.equal(fits.handle.collected.stdout.readFrom(0).spillPath, undefined)
  const over = await world.sh('head -c 2000000 /dev/zero', { stdout: { maxBytes: 1000, spill } })
  assert.deepEqual(Object.keys(over.handle.collected.stdout.readFrom(0)), ['text', 'nextOffset', 'lossy'])
  // Of the three, one file is left.
  const files = await world.sh(`find ${world.cwd}/.dsh-e2b -name '*.log' | wc -l`)
  assert.equal(files.stdout.trim(), '1')
})

test('C22 D21 a background process that holds the output does not hold the outcome beyond the grace', async () => {
  const start = performance.now()
  const { exitCode, stdout, handle } = await world.sh('sleep 600 & printf hi; exit 4', { graceMs: 500 })
  const took = performance.now() - start
  assert.equal(exitCode, 4)
  assert.equal(stdout, 'hi')
  assert.ok(took >= 500, `${took} ms`)
  assert.equal(await handle.waitForExit(AbortSignal.timeout(50)), false)
  handle.terminate()
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end of its tree'), true)
})

test('C22 a raw output is waited for to its end', async () => {
  const handle = world.spawn(['sh', '-c', '(sleep 1; echo late) & echo early; exit 5'], { stdout: 'pipe', graceMs: 200 })
  const text = bytesOf(handle.stdout)
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 5, signal: null })
  assert.equal((await text).toString(), 'early\nlate\n')
})

test('H9 twenty unread outputs leave the line free for others', async () => {
  const stuck = Array.from({ length: 20 }, () => world.spawn(['head', '-c', '10000000', '/dev/zero'], { stdout: 'pipe' }))
  await Promise.all(stuck.map(handle => until(() => handle.pid > 0, PATIENCE_MS, 'a pid')))
  const { stdout } = await world.run(['echo', 'through'])
  assert.equal(stdout, 'through\n')
  for (const handle of stuck) handle.stdout.destroy()
  for (const handle of stuck) await within(handle.done, PATIENCE_MS, 'an outcome')
})

test('a reader that goes away gives the program SIGPIPE', async () => {
  const handle = world.spawn(['yes'], { stdout: 'pipe' })
  await new Promise(resolve => handle.stdout.once('data', resolve))
  handle.stdout.destroy()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: null, signal: 'SIGPIPE' })
})
