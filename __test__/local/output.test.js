import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, bytesOf, host, isAlive, useWorld } from './support.js'

const world = useWorld()
const digest = bytes => createHash('sha256').update(bytes).digest('hex')

test('C15 raw bytes come complete and in order, whatever the reader\'s pace', async () => {
  const handle = world.spawn(['sh', '-c', 'head -c 30000000 /dev/urandom | tee /dev/stderr | sha256sum'], { stdout: 'pipe', stderr: 'pipe' })
  const sum = bytesOf(handle.stdout)
  await new Promise(resolve => handle.stderr.once('readable', resolve))
  const bytes = await within(bytesOf(handle.stderr), PATIENCE_MS, 'the bytes')
  assert.equal(bytes.length, 30_000_000)
  assert.equal((await sum).toString().split(' ')[0], digest(bytes))
})

test('C15 what a program writes faster than anybody can be told of it is whole, whatever its reader does', async () => {
  const LINE = Buffer.from('0123456789abcdef\n')
  const SIZE = 300 << 20
  const handle = world.spawn(['sh', '-c', `yes 0123456789abcdef | head -c ${SIZE}`], { stdout: 'pipe' })
  let length = 0
  let wrong = 0
  let chunks = 0
  for await (const chunk of handle.stdout) {
    for (const at of [0, chunk.length >> 1, chunk.length - 1]) if (chunk[at] !== LINE[(length + at) % 17]) wrong += 1
    length += chunk.length
    chunks += 1
    // A pause that is longer than the pipe lasts, a turn of the loop, none.
    if (chunks % 100 === 0) await new Promise(resolve => setTimeout(resolve, 5))
    else if (chunks % 7 === 0) await new Promise(setImmediate)
  }
  assert.deepEqual([length, wrong], [SIZE, 0])
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 0, signal: null })
})

test('C15 a reader that leaves a fast program ends its pipe', async () => {
  const handle = world.spawn(['sh', '-c', 'yes; exit 3'], { stdout: 'pipe', stderr: 'pipe' })
  const complaint = bytesOf(handle.stderr)
  let length = 0
  await within((async () => {
    for await (const chunk of handle.stdout) if ((length += chunk.length) > 32 << 20) break
  })(), PATIENCE_MS, 'enough')
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the end by the closed pipe'), { exitCode: 3, signal: null })
  assert.equal((await complaint).toString(), '')
})

const SMALL = 'import os\nos.write(1, b"x" * (8 << 20))\nwhile True: os.write(1, b"y" * 80)'
for (const [what, argv] of [['a fast program', ['yes']], ['a program of small writes', ['python3', '-c', SMALL]]]) {
  for (const [how, read] of [
    ['an iterator', async stdout => { for await (const chunk of stdout) if (chunk.length === 0) return }],
    ['a listener', async stdout => { stdout.on('data', () => {}) }],
  ]) {
    test(`C64 ${what}, read by ${how}, leaves everybody else their turns`, async () => {
      const handle = world.spawn(argv, { stdout: 'pipe' })
      const over = read(handle.stdout)
      await new Promise(resolve => handle.stdout.once('readable', resolve).once('data', resolve))
      let turns = 0
      await within(new Promise(resolve => {
        const timer = setInterval(() => {
          turns += 1
          if (turns < 50) return
          clearInterval(timer)
          resolve()
        }, 1)
      }), PATIENCE_MS, 'fifty turns')
      handle.terminate()
      assert.equal((await within(handle.done, PATIENCE_MS, 'the end')).signal, 'SIGTERM')
      await over
    })
  }
}

test('C15 a stream that nobody reads holds its writer, not the other stream nor the termination', async () => {
  const handle = world.spawn(['bash', '-c', '(head -c 50000000 /dev/zero >&2; echo never) & echo here; wait'], { stdout: 'pipe', stderr: 'pipe' })
  const [chunk] = await within(new Promise(resolve => handle.stdout.once('data', (...args) => resolve(args))), PATIENCE_MS, 'the other stream')
  assert.equal(chunk.toString(), 'here\n')
  handle.terminate()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the end'), { exitCode: null, signal: 'SIGTERM' })
  assert.equal(await handle.waitForExit(), true)
  assert.ok((await bytesOf(handle.stderr)).length <= 4 << 20)
})

test('C71 inherited output goes to the harness\' own descriptor', async () => {
  const { stdout, stderr, code } = await host('inherit.mjs').over
  assert.deepEqual({ stdout, stderr, code }, { stdout: 'same out\nout\n', stderr: 'err\n', code: 0 })
})

test('C16 C71 a program writes as slowly as the reader of the harness\' own output reads, and loses nothing', async () => {
  const fixture = fileURLToPath(new URL('fixtures/inherit-wide.mjs', import.meta.url))
  const { stdout, stderr } = await world.sh('"$NODE" "$FIXTURE" | (sleep 1; cat)', { env: { NODE: process.execPath, FIXTURE: fixture }, stdout: { maxBytes: 2 << 20 } })
  assert.equal(stderr, 'exit 0\n')
  const numbers = Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join('')
  assert.ok(stdout === `first\n${numbers}last\n`, `${stdout.length} characters`)
})

test('C17 the last bytes are kept exactly, read by offsets, with the whole stream in a private file', async () => {
  const { handle, stdout } = await world.run(['seq', '1', '20000'], { stdout: { maxBytes: 500, spill: { maxBytes: 1 << 20 } } })
  const whole = Array.from({ length: 20_000 }, (_, index) => `${index + 1}\n`).join('')
  assert.equal(stdout, whole.slice(-500))
  const { lossy, nextOffset, spillPath } = handle.collected.stdout.readFrom(0)
  assert.deepEqual([lossy, nextOffset], [true, whole.length])
  assert.deepEqual(handle.collected.stdout.readFrom(whole.length - 3), { text: '00\n', nextOffset: whole.length, lossy: false })
  assert.equal(readFileSync(spillPath, 'utf8'), whole)
  assert.match(basename(spillPath), /^dsh-subprocess-\d+-\d+-[0-9a-f]{12}-stdout\.log$/)
  assert.match(basename(dirname(spillPath)), /^dsh-subprocess-/)
  assert.deepEqual([statSync(spillPath).mode & 0o777, statSync(dirname(spillPath)).mode & 0o777], [0o600, 0o700])
})

test('C17 a stream that fits, or is over its cap, leaves no file; D3 the directory can be named', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'spill-test-'))
  world.subprocess.internals = { spillDir: directory }
  try {
    const exact = await world.run(['head', '-c', '500', '/dev/zero'], { stdout: { maxBytes: 500, spill: { maxBytes: 1000 } } })
    assert.deepEqual([exact.handle.collected.stdout.readFrom(0).lossy, readdirSync(directory)], [false, []])
    const over = await world.run(['head', '-c', '1001', '/dev/zero'], { stdout: { maxBytes: 500, spill: { maxBytes: 1000 } } })
    assert.equal(over.handle.collected.stdout.readFrom(0).spillPath, undefined)
    assert.deepEqual(readdirSync(directory), [])
    const within = await world.run(['head', '-c', '1000', '/dev/zero'], { stdout: { maxBytes: 500, spill: { maxBytes: 1000 } } })
    const { spillPath } = within.handle.collected.stdout.readFrom(0)
    assert.equal(dirname(spillPath), directory)
    assert.equal(readFileSync(spillPath).length, 1000)
  } finally {
    world.subprocess.internals = {}
  }
})

test('D25 a spill file has its final mode while its command runs', async () => {
  const spill = { maxBytes: 100, spill: { maxBytes: 10_000 } }
  const handle = world.spawn(['sh', '-c', 'head -c 1000 /dev/zero; exec sleep 1000'], { stdout: spill })
  const { stdout } = handle.collected
  await until(() => stdout.readFrom(0).spillPath !== undefined, PATIENCE_MS, 'the file')
  assert.equal(statSync(stdout.readFrom(0).spillPath).mode & 0o7777, 0o600)
  handle.terminate()
  await within(handle.done, PATIENCE_MS, 'the end')
  assert.equal(statSync(stdout.readFrom(0).spillPath).mode & 0o7777, 0o600)
})

test('C17 C70 a private directory that was cleaned away is made anew by the next file that needs one', async () => {
  const spilt = async () => {
    const { handle } = await world.run(['head', '-c', '1000', '/dev/zero'], { stdout: { maxBytes: 100, spill: { maxBytes: 10_000 } } })
    return handle.collected.stdout.readFrom(0).spillPath
  }
  const before = dirname(await spilt())
  rmSync(before, { recursive: true })
  const after = await spilt()
  assert.equal(readFileSync(after).length, 1000)
  assert.deepEqual([dirname(after) === before, statSync(dirname(after)).mode & 0o777], [false, 0o700])
  assert.equal(dirname(await spilt()), dirname(after))
})

test('C22 a descendant that holds the pipe holds the outcome for the grace only, and its later bytes are cut', async () => {
  const start = performance.now()
  const { handle, text } = await world.announced('(sleep 0.6; echo late) & echo $!; exit 4', { graceMs: 200, stdout: { maxBytes: 1000, spill: { maxBytes: 2000 } } })
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 4, signal: null })
  assert.ok(performance.now() - start >= 190)
  await until(() => !isAlive(Number(text)), PATIENCE_MS, 'the descendant\'s end')
  assert.equal(handle.collected.stdout.readFrom(0).text, `${text}\n`)
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end of the tree'), true)
})

test('C22 a held raw pipe stays the caller\'s after the outcome', async () => {
  const handle = world.spawn(['bash', '-c', '(sleep 0.5; echo late) & echo early; exit 0'], { graceMs: 100, stdout: 'pipe' })
  const bytes = bytesOf(handle.stdout)
  await within(handle.done, PATIENCE_MS, 'the outcome')
  assert.equal((await within(bytes, PATIENCE_MS, 'the late bytes')).toString(), 'early\nlate\n')
})

test('C22 a raw pipe that somebody reads keeps the harness until its end, one that nobody reads does not', async () => {
  const { stdout, code } = await host('late.mjs', 'read').over
  assert.deepEqual({ stdout, code }, { stdout: 'outcome, tree gone, late', code: 0 })
  assert.equal((await host('late.mjs').over).stdout, 'outcome, tree gone')
})

test('C18 a gigabyte of output costs its window', async () => {
  await world.run(['head', '-c', '50000000', '/dev/zero'], { stdout: { maxBytes: 1 << 20 } })
  const before = process.memoryUsage().rss
  const { handle } = await world.run(['head', '-c', '1000000000', '/dev/zero'], { stdout: { maxBytes: 1 << 20 } })
  assert.equal(handle.collected.stdout.readFrom(1e9).nextOffset, 1e9)
  assert.ok(process.memoryUsage().rss - before < 16 << 20, `${(process.memoryUsage().rss - before) >> 20} MiB`)
})

test('C17 a spill directory that can\'t be written costs the file only', async () => {
  world.subprocess.internals = { spillDir: '/proc/nowhere' }
  try {
    const { exitCode, handle } = await world.run(['head', '-c', '1000', '/dev/zero'], { stdout: { maxBytes: 500, spill: { maxBytes: 2000 } } })
    assert.equal(exitCode, 0)
    assert.equal(handle.collected.stdout.readFrom(0).spillPath, undefined)
    assert.ok(!existsSync('/proc/nowhere'))
  } finally {
    world.subprocess.internals = {}
  }
})
