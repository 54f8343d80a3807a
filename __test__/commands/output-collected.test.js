import assert from 'node:assert/strict'
import { SOON_MS, matrix, end, gone, says, settled, text, useWorld, PATIENCE_MS } from './world.js'
import { until } from '../support/deadline.js'

const world = useWorld()

/** Starts a line of `sh` whose output's tail is at most `maxBytes`. */
function kept(script, maxBytes, options) {
  return world.spawn(['sh', '-c', script], { stdout: { maxBytes }, ...options })
}

/** The same tail by the definition: whole-stream offsets into what was written. */
function expected(whole, maxBytes, offset) {
  const start = Math.max(0, whole.length - maxBytes)
  const lossy = offset < start
  return { text: whole.subarray(lossy ? start : Math.min(offset, whole.length)).toString('utf8'), nextOffset: whole.length, lossy }
}

matrix('C17 reads by whole-stream offsets give the rest, or the whole tail when it was lost, before the end and after it', async () => {
  const whole = Buffer.from(Array.from({ length: 300 }, (_, at) => `${at}\n`).join(''))
  for (const maxBytes of [1, 7, whole.length - 1, whole.length, whole.length + 1]) {
    const handle = kept('seq 0 299; read go', maxBytes, { stdin: 'pipe' })
    const edge = whole.length - maxBytes
    const offsets = [0, 1, edge - 1, edge, edge + 1, whole.length - 1, whole.length, whole.length + 10].filter(at => at >= 0)
    const holds = when => {
      for (const offset of offsets) {
        assert.deepEqual(handle.collected.stdout.readFrom(offset), expected(whole, maxBytes, offset), `${when}: tail ${maxBytes}, offset ${offset}`)
      }
    }
    await until(() => handle.collected.stdout.readFrom(0).nextOffset === whole.length, PATIENCE_MS, 'the whole output')
    holds('before the end')
    handle.stdin.end('\n')
    await settled(handle)
    holds('after the end')
  }
})

matrix('C17 reads consume nothing and work while the command runs', async () => {
  const handle = kept('read go; echo two; read go; echo three', 1000, { stdin: 'pipe' })
  const reader = handle.collected.stdout
  assert.deepEqual(reader.readFrom(0), { text: '', nextOffset: 0, lossy: false })
  handle.stdin.write('\n')
  await says(handle, /two/)
  assert.deepEqual(reader.readFrom(0), { text: 'two\n', nextOffset: 4, lossy: false })
  assert.deepEqual(reader.readFrom(0), { text: 'two\n', nextOffset: 4, lossy: false })
  handle.stdin.end('\n')
  await settled(handle)
  assert.deepEqual(reader.readFrom(4), { text: 'three\n', nextOffset: 10, lossy: false })
  assert.deepEqual(reader.readFrom(0), { text: 'two\nthree\n', nextOffset: 10, lossy: false })
})

matrix('C17 an offset that leaves the window while the command runs is lossy from then on', async () => {
  const handle = kept('printf 0123456789; read go; printf abcdef; read go', 10, { stdin: 'pipe' })
  await says(handle, /0123456789/)
  assert.equal(handle.collected.stdout.readFrom(0).lossy, false)
  handle.stdin.write('\n')
  await says(handle, /abcdef/)
  assert.deepEqual(handle.collected.stdout.readFrom(0), { text: '6789abcdef', nextOffset: 16, lossy: true })
  assert.deepEqual(handle.collected.stdout.readFrom(6), { text: '6789abcdef', nextOffset: 16, lossy: false })
  handle.stdin.end('\n')
  await settled(handle)
  assert.deepEqual(handle.collected.stdout.readFrom(5), { text: '6789abcdef', nextOffset: 16, lossy: true })
})

matrix('C17 both streams are kept apart, each with its own tail', async () => {
  const handle = world.spawn(['sh', '-c', 'printf aaaaaaaaaa; printf bbbbbbbbbb >&2'], { stdout: { maxBytes: 4 }, stderr: { maxBytes: 6 } })
  await settled(handle)
  assert.deepEqual(handle.collected.stdout.readFrom(0), { text: 'aaaa', nextOffset: 10, lossy: true })
  assert.deepEqual(handle.collected.stderr.readFrom(0), { text: 'bbbbbb', nextOffset: 10, lossy: true })
})

// https://github.com/e2b-dev/E2B/pull/505
matrix('C17 a character that comes in parts is one character (trap A10)', async () => {
  const handle = kept('printf "\\342\\202"; read go; printf "\\254"', 100, { stdin: 'pipe' })
  await says(handle, /\ufffd/)
  handle.stdin.end('\n')
  await settled(handle)
  assert.equal(text(handle), '€')
})

// https://github.com/e2b-dev/E2B/pull/505
matrix('C17 nine megabytes of three-byte characters have no replacement character (trap A10)', async () => {
  const handle = world.spawn(['python3', '-c', 'import sys; sys.stdout.buffer.write("€".encode()*3000000)'], { stdout: { maxBytes: 16 * 1024 * 1024 } })
  await settled(handle)
  const { text: all, nextOffset } = handle.collected.stdout.readFrom(0)
  assert.equal(nextOffset, 9_000_000)
  assert.ok(all === '€'.repeat(3_000_000))
})

// https://github.com/e2b-dev/E2B/pull/505
matrix('C17 a program that dies within a character leaves one replacement at the very end (trap A10)', async () => {
  const handle = kept('printf "ok \\342\\202"; kill -9 $$', 100)
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGKILL' })
  assert.equal(text(handle), 'ok \ufffd')
  const raw = world.spawn(['sh', '-c', 'printf "ok \\342\\202"; kill -9 $$'], { stdout: 'pipe' })
  const chunks = []
  raw.stdout.on('data', chunk => chunks.push(chunk))
  await settled(raw)
  assert.deepEqual(Buffer.concat(chunks), Buffer.from([0x6f, 0x6b, 0x20, 0xe2, 0x82]))
})

matrix('C17 text decodes as a buffer of Node does, cut anywhere', async () => {
  const whole = Buffer.from('a€b\u{1f600}c\ufffdé', 'utf8')
  const octal = [...whole].map(byte => `\\${byte.toString(8).padStart(3, '0')}`).join('')
  for (let maxBytes = 1; maxBytes <= whole.length; maxBytes += 1) {
    const handle = kept(`printf '${octal}'`, maxBytes)
    await settled(handle)
    assert.deepEqual(handle.collected.stdout.readFrom(0), expected(whole, maxBytes, 0))
  }
  const handle = kept(`printf '${octal}'`, 100)
  await settled(handle)
  for (let offset = 0; offset <= whole.length; offset += 1) {
    assert.equal(handle.collected.stdout.readFrom(offset).text, whole.subarray(offset).toString('utf8'))
  }
})

matrix('C17 bytes that are no text at all decode and count exactly', async () => {
  const handle = kept("printf '\\377\\376\\000\\001\\200'", 100)
  await settled(handle)
  assert.deepEqual(handle.collected.stdout.readFrom(0), { text: Buffer.from([255, 254, 0, 1, 128]).toString('utf8'), nextOffset: 5, lossy: false })
})

matrix('C17 a collected stream larger than its tail ends with exactly its last bytes', async () => {
  const handle = kept('seq 1 200000', 65_536)
  await settled(handle)
  const whole = Buffer.from(Array.from({ length: 200_000 }, (_, at) => `${at + 1}\n`).join(''))
  assert.deepEqual(handle.collected.stdout.readFrom(0), expected(whole, 65_536, 0))
})

// https://github.com/openai/codex/issues/5948
matrix('C17 C30 a follower is read as it goes and ends when it is called off (trap B10)', async () => {
  const abort = new AbortController()
  const handle = kept('while :; do echo x; sleep 0.05; done', 1000, { signal: abort.signal })
  let offset = 0
  for (let at = 0; at < 5; at += 1) {
    const read = await until(() => {
      const next = handle.collected.stdout.readFrom(offset)
      return next.nextOffset > offset && next
    }, PATIENCE_MS, 'another line')
    assert.match(read.text, /^(x\n)+$/)
    offset = read.nextOffset
  }
  const before = performance.now()
  abort.abort()
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGTERM' })
  assert.ok(performance.now() - before < SOON_MS)
  assert.equal(await gone(handle), true)
})

// https://github.com/earendil-works/pi/issues/7636
matrix('C22 a background holder of the output does not hold the outcome (trap B1)', { timeout: 120_000 }, async () => {
  const graceMs = 400
  const variants = [
    ['sleep 300 & echo hi', 0, 'hi\n'],
    ['nohup sleep 300 2>/dev/null & echo hi', 0, 'hi\n'],
    ['sleep 300 >/dev/null & printf hi; exit 4', 4, 'hi'],
    ['sleep 300 2>/dev/null & printf hi; exit 4', 4, 'hi'],
  ]
  await Promise.all(variants.map(async ([script, exitCode, stdout]) => {
    const handle = world.spawn(['bash', '-c', script], { graceMs })
    const before = performance.now()
    assert.deepEqual(await settled(handle, script), { exitCode, signal: null })
    assert.ok(performance.now() - before >= graceMs - 50, `${script}: the grace is given`)
    assert.equal(text(handle), stdout)
    const waiting = handle.waitForExit().then(() => 'gone')
    assert.equal(await Promise.race([waiting, world.sh('true').then(() => 'alive')]), 'alive')
    await end(handle)
    assert.equal(await waiting, 'gone')
  }))
})

matrix('D21 done waits no less than the grace for a holder and keeps what came meanwhile', async () => {
  const graceMs = 1_000
  const handle = world.spawn(['bash', '-c', '(sleep 0.3; echo late; sleep 300) & echo early'], { graceMs })
  const before = performance.now()
  await settled(handle)
  const took = performance.now() - before
  assert.ok(took >= graceMs - 50 && took < graceMs + SOON_MS, `${took} ms`)
  assert.equal(text(handle), 'early\nlate\n')
  await end(handle)
})

matrix('C22 a command without holders waits for no grace', async () => {
  const before = performance.now()
  for (let at = 0; at < 5; at += 1) await world.run(['true'], { graceMs: 2147483647 })
  assert.ok(performance.now() - before < SOON_MS)
})
