import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { under } from './bare.js'
import { EXTENDED, PATIENCE_MS, SOON_MS, drain, end, gone, matrix, says, settled, text, useWorld } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()
const MIB = 1024 * 1024
const PIPES = { stdout: 'pipe', stderr: 'pipe' }

/** Counts and hashes a raw stream to its end. */
async function digest(stream, ms = PATIENCE_MS) {
  const hash = createHash('sha256')
  let length = 0
  stream.on('data', chunk => {
    length += chunk.length
    hash.update(chunk)
  })
  await within(once(stream, 'end'), ms, 'the end of a raw stream')
  return { length, sha256: hash.digest('hex') }
}

// https://github.com/e2b-dev/E2B/issues/170
matrix('C15 both streams are whole to their last byte when they end together (trap A1)', { timeout: 120_000 }, async () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => at + 1).join('\n') + '\n'
  const spec = { stdout: { maxBytes: 16 * MIB }, stderr: { maxBytes: 16 * MIB } }
  const repeats = EXTENDED ? 500 : 40
  for (let at = 0; at < repeats; at += 20) {
    await Promise.all(Array.from({ length: 20 }, async () => {
      const { exitCode, signal, stdout, stderr } = await world.sh('seq 1 20000; seq 1 20000 >&2; exit 3', spec)
      assert.deepEqual({ exitCode, signal }, { exitCode: 3, signal: null })
      assert.equal(stdout, lines)
      assert.equal(stderr, lines)
    }))
  }
})

/** Ends on its own only when its output is closed. */
function endless(world, name) {
  return world.spawn(['sh', '-c', `exec yes ${name === 'stdout' ? '' : '>&2'}`], PIPES)
}

for (const name of ['stdout', 'stderr']) {
  const other = name === 'stdout' ? 'stderr' : 'stdout'

  matrix(`C14 C15 ${name} that is destroyed in the turn of its spawn ends the program that writes to it`, async () => {
    const handle = endless(world, name)
    handle[name].destroy()
    handle[other].resume()
    assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGPIPE' })
  })

  matrix(`C14 C15 ${name} that is destroyed before there is a sandbox ends the program that writes to it`, async () => {
    let give
    const sandbox = new Promise(resolve => { give = resolve })
    const early = await under(world.server, { cwd: world.cwd, getSandbox: () => sandbox })
    try {
      const handle = endless(early, name)
      handle[other].resume()
      handle[name].destroy()
      await within(once(handle[name], 'close'), PATIENCE_MS, 'its end here')
      give(world.composition.sandbox())
      assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGPIPE' })
    } finally {
      await early.dispose()
    }
  })
}

// https://github.com/docker/cli/pull/5957
matrix('C15 a reader that is slower than the program gets everything after the exit too (trap A8)', { timeout: 90_000 }, async () => {
  const size = 18_933_764
  const handle = world.spawn(['head', '-c', String(size), '/dev/zero'], PIPES)
  handle.stderr.resume()
  let total = 0
  let rest = MIB
  const ended = once(handle.stdout, 'end')
  handle.stdout.on('readable', async function read() {
    for (let chunk = handle.stdout.read(1000) ?? handle.stdout.read(); chunk !== null; chunk = handle.stdout.read(1000) ?? handle.stdout.read()) {
      total += chunk.length
      rest -= chunk.length
      if (rest > 0) continue
      rest = 2 * MIB
      handle.stdout.off('readable', read)
      setTimeout(() => {
        handle.stdout.on('readable', read)
        read()
      }, 100)
      return
    }
  })
  await within(ended, 60_000, 'the slow reader')
  assert.equal(total, size)
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
})

// https://github.com/trycua/cua/issues/1513
matrix('C15 random bytes come as they are (trap A11)', async () => {
  const handle = world.spawn(['sh', '-c', 'head -c 10485760 /dev/urandom | tee random'], PIPES)
  handle.stderr.resume()
  const { length, sha256 } = await digest(handle.stdout)
  assert.equal(length, 10_485_760)
  await settled(handle)
  assert.equal((await world.run(['sha256sum', 'random'])).stdout.split(' ')[0], sha256)
  const archive = world.spawn(['tar', '-cf', '-', 'random'], PIPES)
  archive.stderr.resume()
  const packed = digest(archive.stdout)
  await settled(archive)
  assert.ok((await packed).length > 10_485_760)
})

matrix('C15 every byte value comes through one at a time', async () => {
  const script = 'import os,time\nfor b in range(256):\n  os.write(1,bytes([b]))\n  if b%16==0: time.sleep(.002)'
  const handle = world.spawn(['python3', '-c', script], PIPES)
  handle.stderr.resume()
  assert.deepEqual(await drain(handle.stdout), Buffer.from(Array.from({ length: 256 }, (_, at) => at)))
  await settled(handle)
})

// https://github.com/openai/codex/pull/18212
matrix('C15 many lines of one write all come without a further event (trap A14)', async () => {
  const script = 'import os,sys,time\nos.write(1,b"".join(b"line %d\\n"%i for i in range(1000)))\nsys.stdin.read()'
  const handle = world.spawn(['python3', '-c', script], { ...PIPES, stdin: 'pipe' })
  handle.stderr.resume()
  let seen = ''
  const all = new Promise(resolve => handle.stdout.on('data', chunk => {
    seen += chunk
    if (seen.endsWith('line 999\n')) resolve()
  }))
  await within(all, PATIENCE_MS, 'the last line')
  assert.equal(seen.split('\n').length, 1001)
  handle.stdin.end()
  await settled(handle)
})

matrix('C15 a large output at once is whole', { timeout: EXTENDED ? 600_000 : 120_000 }, async () => {
  const size = (EXTENDED ? 1024 : 256) * MIB
  const handle = world.spawn(['sh', '-c', `yes 0123456789abcdef | head -c ${size}`], PIPES)
  handle.stderr.resume()
  let length = 0
  let wrong = 0
  const line = Buffer.from('0123456789abcdef\n')
  handle.stdout.on('data', chunk => {
    if (chunk[0] !== line[length % 17] || chunk[chunk.length - 1] !== line[(length + chunk.length - 1) % 17]) wrong += 1
    length += chunk.length
  })
  // Whoever waits for `done` alone has heard all of it by then.
  const atDone = handle.done.then(() => length)
  await within(once(handle.stdout, 'end'), EXTENDED ? 500_000 : 100_000, 'all of it')
  assert.equal(length, size)
  assert.equal(await atDone, size)
  assert.equal(wrong, 0)
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
})

matrix('C15 C22 done waits for a raw stream and comes after its last byte', async () => {
  const handle = world.spawn(['sh', '-c', 'printf first; (sleep 0.4; printf last) & exit 5'], { stdout: 'pipe', graceMs: 50 })
  const order = []
  const chunks = []
  handle.stdout.on('data', chunk => chunks.push(chunk)).on('end', () => order.push('end'))
  handle.done.then(() => order.push('done'))
  assert.deepEqual(await settled(handle), { exitCode: 5, signal: null })
  assert.equal(Buffer.concat(chunks).toString(), 'firstlast')
  assert.deepEqual(order, ['end', 'done'])
})

matrix('C15 an unread output makes the program wait and costs a bounded window', async () => {
  const script = 'import os\nn=0\nos.set_blocking(1,False)\nimport time\nstall=0\nwhile stall<20:\n  try:\n    n+=os.write(1,b"x"*65536); stall=0\n  except BlockingIOError:\n    stall+=1; time.sleep(.02)\nos.write(2,b"%d"%n)'
  const handle = world.spawn(['python3', '-c', script], { stdout: 'pipe' })
  const [count] = await says(handle, /^\d+/, 'stderr')
  // A pipe of the kernel and a window of ours, not the whole program's will.
  assert.ok(Number(count) >= 64 * 1024 && Number(count) < 24 * MIB, `${count} bytes were taken`)
  assert.equal((await digest(handle.stdout)).length, Number(count))
  await settled(handle)
})

matrix('C15 a stalled stdout holds neither stderr nor the exit up', async () => {
  const handle = world.spawn(['sh', '-c', '(yes & echo $! > yes.pid; wait) & sleep 0.1; head -c 5000000 /dev/zero >&2; kill $(cat yes.pid); exit 9'], PIPES)
  const { length } = await digest(handle.stderr)
  assert.equal(length, 5_000_000)
  handle.stdout.resume()
  assert.deepEqual(await settled(handle), { exitCode: 9, signal: null })
  await end(handle)
})

// https://github.com/HKUDS/OpenHarness/issues/204
matrix('C15 stderr that nobody reads does not hold stdout up (trap B8)', async () => {
  const handle = world.spawn(['sh', '-c', '(head -c 50000000 /dev/zero >&2; echo after) & echo done; wait'], PIPES)
  let seen = ''
  const done = new Promise(resolve => handle.stdout.on('data', chunk => {
    seen += chunk
    if (seen.includes('done\n')) resolve()
  }))
  await within(done, PATIENCE_MS, 'stdout beside a full stderr')
  assert.equal(seen, 'done\n', 'the writer of stderr waits')
  handle.stderr.resume()
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
  assert.equal(seen, 'done\nafter\n')
  // A collected one is always taken.
  const collected = world.spawn(['sh', '-c', 'head -c 5000000 /dev/zero >&2; echo done'], { stdout: 'pipe', stderr: { maxBytes: 100 } })
  assert.equal(String(await drain(collected.stdout)), 'done\n')
  assert.deepEqual(await settled(collected), { exitCode: 0, signal: null })
  assert.equal(collected.collected.stderr.readFrom(0).nextOffset, 5_000_000)
})

// https://github.com/hyperium/hyper/issues/2899
matrix('C15 twenty unread outputs hold no other command up (trap H9)', async () => {
  const stalled = Array.from({ length: 20 }, () => world.spawn(['head', '-c', '10000000', '/dev/zero'], { stdout: 'pipe' }))
  const before = performance.now()
  assert.equal((await world.run(['echo', 'hi'])).stdout, 'hi\n')
  assert.ok(performance.now() - before < SOON_MS)
  for (const handle of stalled) handle.stdout.destroy()
  await Promise.all(stalled.map(handle => settled(handle)))
})

matrix('C15 a reader that leaves early frees the writer by a broken pipe', async () => {
  const handle = world.spawn(['bash', '-c', 'yes; echo ${PIPESTATUS[0]} >&2'], { stdout: 'pipe' })
  await within(once(handle.stdout, 'data'), PATIENCE_MS, 'the first bytes')
  handle.stdout.destroy()
  const outcome = await settled(handle)
  assert.equal(outcome.signal === null ? outcome.exitCode : outcome.signal, outcome.signal === null ? 0 : 'SIGPIPE')
  if (outcome.signal === null) assert.match(text(handle, 'stderr'), /141/)
  assert.equal(await gone(handle), true)
})

matrix('C15 a reader that leaves before the first byte ends nothing but its stream', async () => {
  const handle = world.spawn(['sh', '-c', 'sleep 0.1; echo said >&2; exit 2'], { stdout: 'pipe' })
  handle.stdout.destroy()
  assert.deepEqual(await settled(handle), { exitCode: 2, signal: null })
  assert.equal(text(handle, 'stderr'), 'said\n')
})

matrix('C15 a pause and its end change no byte', async () => {
  const handle = world.spawn(['seq', '1', '300000'], { stdout: 'pipe' })
  const chunks = []
  handle.stdout.on('data', chunk => {
    chunks.push(chunk)
    handle.stdout.pause()
    setTimeout(() => handle.stdout.resume(), 1)
  })
  await within(once(handle.stdout, 'end'), PATIENCE_MS, 'the end of a paused stream')
  const lines = Buffer.concat(chunks).toString().trimEnd().split('\n')
  assert.equal(lines.length, 300_000)
  assert.ok(lines.every((line, at) => line === String(at + 1)))
  await settled(handle)
})

matrix('D20 raw ends are good for web streams and give buffers', async () => {
  const handle = world.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' })
  const writer = (await import('node:stream')).Writable.toWeb(handle.stdin).getWriter()
  await writer.write(Buffer.from('through the web'))
  await writer.close()
  let seen = ''
  for await (const chunk of Readable.toWeb(handle.stdout)) {
    assert.ok(chunk instanceof Uint8Array)
    seen += Buffer.from(chunk)
  }
  assert.equal(seen, 'through the web')
  await settled(handle)
})

matrix('C15 an async iterator and an encoding work as on any stream of Node', async () => {
  const handle = world.spawn(['sh', '-c', 'printf "\\342\\202"; sleep 0.1; printf "\\254"'], { stdout: 'pipe' })
  handle.stdout.setEncoding('utf8')
  let seen = ''
  for await (const chunk of handle.stdout) seen += chunk
  assert.equal(seen, '€')
  await settled(handle)
})
