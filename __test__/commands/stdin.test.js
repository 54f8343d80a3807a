import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { EXTENDED, PATIENCE_MS, PROVIDER, SOON_MS, drain, end, gone, matrix, says, settled, text, useWorld } from './world.js'
import { until, within } from '../support/deadline.js'

const world = useWorld()
const MIB = 1024 * 1024

/** A command with raw input; its output is collected unless asked otherwise. */
function fed(argv, options) {
  return world.spawn(argv, { stdin: 'pipe', ...options })
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Writes until the stream asks to wait, at most `most` bytes; returns how many were written. */
function writeUntilFull(stream, most, chunk = Buffer.alloc(64 * 1024)) {
  let written = 0
  while (written < most) {
    written += chunk.length
    if (!stream.write(chunk)) break
  }
  return written
}

matrix('C14 ignored input is the null device', async () => {
  const { stdout } = await world.sh('readlink /proc/self/fd/0; cat | wc -c')
  assert.equal(stdout, '/dev/null\n0\n')
})

// https://github.com/e2b-dev/E2B/issues/927
matrix('C14 piped input waits for what comes later and ignored input ends at once (trap E1)', async () => {
  const handle = fed(['cat'])
  assert.equal((await world.run(['cat'])).exitCode, 0)
  handle.stdin.write('later')
  await says(handle, /later/)
  handle.stdin.end()
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
})

matrix('C14 bytes of every value arrive in order and complete, one at a time too', async () => {
  const bytes = Buffer.from(Array.from({ length: 1024 }, (_, at) => at % 256))
  const handle = fed(['cat'], { stdout: 'pipe' })
  const all = drain(handle.stdout)
  for (let at = 0; at < bytes.length; at += 1) handle.stdin.write(bytes.subarray(at, at + 1))
  handle.stdin.end()
  assert.deepEqual(await all, bytes)
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
})

matrix('C14 writes of every size around the borders of pipes and messages arrive', async () => {
  const sizes = [1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 131_072, 262_143, 262_145]
  const bytes = randomBytes(sizes.reduce((sum, size) => sum + size, 0))
  const handle = fed(['sha256sum'])
  let at = 0
  for (const size of sizes) {
    handle.stdin.write(bytes.subarray(at, at + size))
    at += size
  }
  handle.stdin.end()
  await settled(handle)
  assert.equal(text(handle).split(' ')[0], sha256(bytes))
})

matrix('C14 end gives the end of file and end without a byte too', async () => {
  for (const last of [undefined, 'last words']) {
    const handle = fed(['wc', '-c'])
    handle.stdin.end(last)
    assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
    assert.equal(text(handle).trim(), String(last?.length ?? 0))
  }
})

matrix('C14 input that is ended at once after spawn is whole', { timeout: 120_000 }, async () => {
  const bytes = randomBytes(3 * MIB)
  const handles = Array.from({ length: 4 }, () => {
    const handle = fed(['sha256sum'])
    handle.stdin.end(bytes)
    return handle
  })
  for (const handle of handles) {
    await settled(handle)
    assert.equal(text(handle).split(' ')[0], sha256(bytes))
  }
})

matrix('C14 bulk goes through cat both ways', { timeout: EXTENDED ? 600_000 : 120_000 }, async () => {
  const total = (EXTENDED ? 1024 : 64) * MIB
  const piece = randomBytes(MIB)
  const sent = createHash('sha256')
  const received = createHash('sha256')
  const handle = fed(['cat'], { stdout: 'pipe' })
  let length = 0
  handle.stdout.on('data', chunk => {
    length += chunk.length
    received.update(chunk)
  })
  const ended = once(handle.stdout, 'end')
  for (let at = 0; at < total; at += piece.length) {
    sent.update(piece)
    if (!handle.stdin.write(piece)) await within(once(handle.stdin, 'drain'), PATIENCE_MS, 'room for input')
  }
  handle.stdin.end()
  await within(ended, EXTENDED ? 500_000 : PATIENCE_MS, 'the echo')
  assert.equal(length, total)
  assert.equal(received.digest('hex'), sent.digest('hex'))
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
})

matrix('C14 a program that does not read makes the writer wait and reads everything later', async () => {
  const handle = fed(['sh', '-c', 'mkfifo -m 600 door; echo ready; read go < door; wc -c'])
  await says(handle, /ready/)
  let written = 0
  for (;;) {
    written += writeUntilFull(handle.stdin, 64 * MIB)
    assert.ok(written < 64 * MIB, 'a writer is asked to wait before 64 MiB')
    const drained = await Promise.race([once(handle.stdin, 'drain').then(() => true), world.sh('sleep 0.3').then(() => false)])
    if (!drained) break
  }
  assert.ok(handle.stdin.writableNeedDrain)
  await world.sh('echo go > door')
  handle.stdin.end()
  await settled(handle)
  assert.equal(text(handle).match(/\d+/)[0], String(written))
})

matrix('C14 data of nothing is an end at once', async () => {
  for (const stdin of [{}, { data: undefined }, { data: null }, { data: '' }, { data: new Uint8Array(0) }]) {
    assert.equal((await world.run(['wc', '-c'], { stdin })).stdout.trim(), '0')
  }
})

matrix('C14 data is a text or the bytes of any view', async () => {
  const bytes = new Uint8Array([0, 1, 2, 0xfe, 0xff, 5, 6, 7])
  for (const [data, expected] of [
    ['aé', Buffer.from('aé')],
    [Buffer.from(bytes).subarray(1, 4), bytes.slice(1, 4)],
    [new Uint16Array(bytes.buffer, 2, 2), bytes.slice(2, 6)],
    [new DataView(bytes.buffer, 3, 4), bytes.slice(3, 7)],
  ]) {
    const handle = world.spawn(['cat'], { stdin: { data }, stdout: 'pipe' })
    assert.deepEqual(await drain(handle.stdout), Buffer.from(expected))
    await settled(handle)
  }
})

// https://github.com/openai/codex-action/issues/153
matrix('C14 data that a program ignores is no error (trap E3)', { timeout: 120_000 }, async () => {
  const data = Buffer.alloc(64 * MIB)
  assert.deepEqual(await settled(world.spawn(['sh', '-c', 'exit 7'], { stdin: { data } })), { exitCode: 7, signal: null })
  const head = world.spawn(['head', '-c', '1'], { stdin: { data } })
  assert.deepEqual(await settled(head), { exitCode: 0, signal: null })
  assert.equal(text(head), '\0')
})

// https://github.com/openai/codex-action/issues/153
matrix('C14 a write that nobody reads fails the stream with EPIPE and nothing else (trap E3)', { timeout: 120_000 }, async () => {
  for (const [argv, exitCode] of [[['sh', '-c', 'exit 7'], 7], [['head', '-c', '1'], 0]]) {
    const handle = fed(argv)
    const failed = once(handle.stdin, 'error')
    handle.stdin.write(Buffer.alloc(64 * MIB))
    const [error] = await within(failed, PATIENCE_MS, 'the error of the stream')
    assert.equal(error.code, 'EPIPE')
    assert.deepEqual(await settled(handle), { exitCode, signal: null })
  }
})

matrix('C14 a write after the program closed its input fails with EPIPE while the program lives on', async () => {
  const handle = fed(['sh', '-c', 'exec <&-; echo closed; exec sleep 300'])
  await says(handle, /closed/)
  const failed = once(handle.stdin, 'error')
  const feed = (async () => {
    for (let at = 0; at < 10_000 && !handle.stdin.destroyed; at += 1) {
      handle.stdin.write('x')
      await new Promise(setImmediate)
    }
  })()
  const [error] = await within(failed, PATIENCE_MS, 'EPIPE')
  await feed
  assert.equal(error.code, 'EPIPE')
  if (PROVIDER === 'native') assert.deepEqual([error.errno, error.syscall], [-32, 'write'])
  await end(handle)
})

matrix('C14 an EPIPE that nobody listens for ends no harness', async () => {
  const uncaught = []
  const note = error => uncaught.push(error)
  process.on('uncaughtException', note)
  try {
    const handle = fed(['true'])
    handle.stdin.write(Buffer.alloc(8 * MIB))
    await settled(handle)
    await until(() => handle.stdin.destroyed, PATIENCE_MS, 'the end of the stream')
    await new Promise(setImmediate)
    assert.deepEqual(uncaught, [])
  } finally {
    process.off('uncaughtException', note)
  }
})

// https://github.com/e2b-dev/infra/issues/3622
matrix('C14 C20 writes around the exit change no outcome (trap E4)', async () => {
  const handle = fed(['sh', '-c', 'sleep 0.05; exit 3'])
  const errors = []
  handle.stdin.on('error', error => errors.push(error.code))
  const stop = performance.now() + 500
  while (performance.now() < stop) {
    if (!handle.stdin.destroyed) handle.stdin.write('x')
    await new Promise(go => setTimeout(go, 5))
  }
  assert.deepEqual(await settled(handle), { exitCode: 3, signal: null })
  assert.ok(errors.every(code => code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED'), String(errors))
})

// https://github.com/trpc-group/trpc-agent-go/pull/2557
matrix('C14 C20 a program that ends before its first input has its own outcome (trap E6)', { timeout: 200_000 }, async () => {
  const times = EXTENDED ? 1000 : 100
  for (let at = 0; at < times; at += 20) {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => settled(world.spawn(['true'], { stdin: { data: 'x' } }))))
    for (const outcome of outcomes) assert.deepEqual(outcome, { exitCode: 0, signal: null })
  }
  assert.deepEqual(await settled(world.spawn(['true'], { stdin: { data: Buffer.alloc(MIB) } })), { exitCode: 0, signal: null })
})

matrix('C14 data is whole, text or bytes, and then its end comes', async () => {
  const cases = [['', ''], ['text with € and \0 nul', 'text with € and \0 nul'], [Buffer.from('bytes'), 'bytes'], [new Uint8Array([104, 105]), 'hi']]
  for (const [data, expected] of cases) {
    const { exitCode, stdout } = await world.run(['cat'], { stdin: { data } })
    assert.deepEqual({ exitCode, stdout }, { exitCode: 0, stdout: expected })
  }
  const data = randomBytes(5 * MIB)
  assert.equal((await world.run(['sha256sum'], { stdin: { data } })).stdout.split(' ')[0], sha256(data))
  const words = 'žluťoučký 你好\n'.repeat(100_000)
  assert.equal((await world.run(['sha256sum'], { stdin: { data: words } })).stdout.split(' ')[0], sha256(words))
})

// https://github.com/blaxel-ai/sandbox/pull/318
matrix('C14 C30 writers that block do not hold a termination up (trap E7)', async () => {
  const handle = fed(['sleep', '300'])
  handle.stdin.on('error', () => {})
  let calledBack = 0
  for (let at = 0; at < 10; at += 1) handle.stdin.write(Buffer.alloc(8 * MIB), () => { calledBack += 1 })
  handle.stdin.end()
  assert.equal((await world.sh('true')).exitCode, 0)
  assert.equal(calledBack, 0, 'nobody has read 8 MiB')
  const before = performance.now()
  handle.terminate()
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGTERM' })
  assert.ok(performance.now() - before < SOON_MS)
})

// https://github.com/blaxel-ai/sandbox/pull/318
matrix('C22 a descendant that holds the input does not hold the outcome (trap E7)', async () => {
  const handle = world.spawn(['bash', '-c', 'sleep 300 <&0 & exit 3'], { stdin: { data: Buffer.alloc(8 * MIB) }, graceMs: 300 })
  assert.deepEqual(await settled(handle, 'bash', 10_000), { exitCode: 3, signal: null })
  await end(handle)
})

// https://github.com/kubernetes-client/javascript/issues/441
matrix('C14 a stream that is closed ends no program (trap E9)', async () => {
  const handle = fed(['sh', '-c', 'cat > /dev/null; echo input over; exec sleep 300'], { stdout: 'pipe' })
  const over = once(handle.stdout, 'data')
  handle.stdin.destroy()
  const [bytes] = await within(over, PATIENCE_MS, 'the end of the input')
  assert.equal(String(bytes), 'input over\n')
  handle.stdout.destroy()
  assert.equal((await world.sh(`kill -0 ${handle.pid} && echo alive`)).stdout, 'alive\n')
  await end(handle)
  assert.equal(await gone(handle), true)
})

// https://github.com/daintreehq/daintree/issues/11871
matrix('C14 C15 three separate pipes carry framed messages of every size (trap K10)', { timeout: 120_000 }, async () => {
  const server = [
    'import sys',
    'inp,out=sys.stdin.buffer,sys.stdout.buffer',
    'while True:',
    '  head=inp.readline()',
    '  if not head: break',
    '  n=int(head.split(b":")[1]); inp.readline(); body=inp.read(n)',
    '  sys.stderr.write("noise %d\\r\\n"%n); sys.stderr.flush()',
    '  out.write(b"Content-Length: %d\\r\\n\\r\\n"%n+body); out.flush()',
  ].join('\n')
  const handle = fed(['python3', '-c', server], { stdout: 'pipe', stderr: { maxBytes: 1 << 20 } })
  const requests = Array.from({ length: EXTENDED ? 1000 : 200 }, (_, at) => randomBytes(at % 50 === 49 ? MIB : 1 + ((at * 7919) % 5000)))
  const framed = body => Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body])
  const answers = drain(handle.stdout)
  for (const body of requests) {
    if (!handle.stdin.write(framed(body))) await within(once(handle.stdin, 'drain'), PATIENCE_MS, 'room for input')
  }
  handle.stdin.end()
  assert.equal(sha256(await answers), sha256(Buffer.concat(requests.map(framed))))
  await settled(handle)
  assert.equal(text(handle, 'stderr'), requests.map(({ length }) => `noise ${length}\r\n`).join(''))
})
