import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { settled, useLink } from './world.js'

const MIB = 1024 * 1024
const BYTES = 8 * MIB
const link = useLink()

const digest = bytes => createHash('sha256').update(bytes).digest('hex')
/** What people read: shorter by more than half when it is packed. */
const text = Buffer.from(Array.from({ length: BYTES / 32 }, (_, i) => `${i}: line of a build's log\n`).join('').padEnd(BYTES, '.')).subarray(0, BYTES)

/** Bytes through `cat` and back; gives what the line carried for each of them. */
async function echoed(world, bytes) {
  const before = world.proxy.carried
  const handle = world.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' })
  handle.stdin.end(bytes)
  const got = []
  for await (const part of handle.stdout) got.push(part)
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
  assert.equal(digest(Buffer.concat(got)), digest(bytes))
  const { up, down } = world.proxy.carried
  return { up: (up - before.up) / bytes.length, down: (down - before.down) / bytes.length }
}

test('C14 C15 what shrinks travels packed both ways, what does not costs no more than itself, and all of it arrives as it was', async t => {
  const world = await link.open()
  const packed = await echoed(world, text)
  const plain = await echoed(world, randomBytes(BYTES))
  // Blocks of each, so that it is found out again and again.
  const blocks = Array.from({ length: 16 }, (_, i) => i % 2 === 0 ? randomBytes(BYTES / 16) : text.subarray(0, BYTES / 16))
  const mixed = await echoed(world, Buffer.concat(blocks))
  t.diagnostic(`bytes carried for one: ${JSON.stringify({ packed, plain, mixed })}`)
  for (const way of ['up', 'down']) {
    assert.ok(packed[way] < 0.5, `${packed[way]} bytes ${way} for one of text`)
    // Headers of frames, messages and HTTP, acknowledgements.
    assert.ok(plain[way] > 1 && plain[way] < 1.05, `${plain[way]} bytes ${way} for one of noise`)
    assert.ok(mixed[way] < 0.95, `${mixed[way]} bytes ${way} for one of both`)
  }
})

test('C14 nothing travels packed to a daemon that logs what it gets, since the length of a sealed message would tell of what it holds', async () => {
  const world = await link.open({}, { rules: [{ path: '/process.Process/StreamInput', refuse: 415 }], warm: false })
  const { up, down } = await echoed(world, text)
  assert.ok(up > 1, `${up} bytes up for one of text`)
  assert.ok(down < 0.5, `${down} bytes down for one of text`)
})
