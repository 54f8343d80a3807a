import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { EXTENDED, settled, useLink } from './world.js'
import { until, within } from '../support/deadline.js'

const MIB = 1024 * 1024
const BYTES = (EXTENDED ? 100 : 20) * MIB
const AT_LEAST_MS = 8_000
const CUT_MS = 100
const link = useLink()

const hash = () => createHash('sha256')
const sum = async (world, file) => (await world.witness(`sha256sum < ${file}`)).slice(0, 64)

/** Reads a command's output, half of it noise and half text that travels packed, to its end; returns its digest and length. */
async function download(world) {
  const halves = 'head -c 524288 /dev/urandom; yes "line $i of what packs" | head -c 524288'
  const script = `i=0; while [ $i -lt ${BYTES / MIB} ]; do ${halves}; i=$((i+1)); done | tee down`
  const handle = world.spawn(['sh', '-c', script], { stdout: 'pipe' })
  const digest = hash()
  let bytes = 0
  for await (const chunk of handle.stdout) {
    digest.update(chunk)
    bytes += chunk.length
  }
  return { outcome: await settled(handle), bytes, digest: digest.digest('hex') }
}

/** Writes such bytes to a command's input; returns the digest of what was written. */
async function upload(world) {
  const handle = world.spawn(['sh', '-c', 'cat > up; exit 7'], { stdin: 'pipe' })
  const digest = hash()
  for (let sent = 0; sent < BYTES; sent += MIB) {
    const part = Buffer.concat([randomBytes(MIB / 2), Buffer.alloc(MIB / 2, `line ${sent} of what packs\n`)])
    digest.update(part)
    if (!handle.stdin.write(part)) await new Promise(resolve => handle.stdin.once('drain', resolve))
  }
  handle.stdin.end()
  return { outcome: await settled(handle, 'the upload', 300_000), digest: digest.digest('hex') }
}

/** Fifty short commands a second until `isOver`; returns how many, and those with a wrong outcome. */
async function shorts(world, isOver) {
  const under = []
  for (let count = 0; !isOver(); count++) {
    const code = count % 7
    const expected = { exitCode: code, signal: null, stdout: `${count}\n` }
    under.push(world.sh(`echo x >> count; echo ${count}; exit ${code}`).then(({ exitCode, signal, stdout }) => ({ expected, got: { exitCode, signal, stdout } })))
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  const all = await Promise.all(under)
  return { count: all.length, wrong: all.filter(({ expected, got }) => !isDeepStrictEqual(expected, got)) }
}

/** A terminal that answers each line with the same line. */
async function echoes(world, isOver) {
  const terminal = await world.subprocess.spawnTerminal({
    argv: ['sh', '-c', 'stty -echo; echo up; exec cat'], cwd: world.cwd, rows: 24, cols: 80, graceMs: 1000,
  })
  const pieces = terminal.output.setEncoding('utf8')[Symbol.asyncIterator]()
  let rest = ''
  const line = async what => {
    while (!rest.includes('\r\n')) rest += (await within(pieces.next(), 30_000, what)).value
    const [first, ...more] = rest.split('\r\n')
    rest = more.join('\r\n')
    return first
  }
  assert.equal(await line('the terminal'), 'up')
  let count = 0
  for (; !isOver(); count++) {
    await terminal.write(`${count}\n`)
    assert.equal(await line(`the echo of ${count}`), String(count))
  }
  await terminal.write('\x04')
  return { count, rest, outcome: await within(terminal.done, 30_000, 'the end of the terminal') }
}

/** How a connection is cut, and what line it is on. */
const CUTS = [
  { how: 'at random moments within 100 ms', cut: { cutAfterMs: CUT_MS, random: true } },
  ...EXTENDED ? [
    { how: 'every 100 ms', cut: { cutAfterMs: CUT_MS } },
    { how: 'every second, 50 ms away', cut: { cutAfterMs: 1000 }, proxy: { line: { delayMs: 25 } } },
  ] : [],
]

for (const { how, cut, proxy } of CUTS) {
  test(`C14 C15 C20 no byte is lost or repeated and each command runs once while every connection is cut ${how} (trap H3)`, { timeout: 900_000 }, async t => {
    const world = await link.open({}, { proxy })
    world.proxy.bytes = cut
    world.proxy.cut()
    const before = world.proxy.requests.length
    const end = performance.now() + AT_LEAST_MS
    let busy = 2
    const isOver = () => busy === 0 && performance.now() > end
    const done = transfer => transfer.finally(() => { busy-- })
    const [down, up, short, echo] = await Promise.all([done(download(world)), done(upload(world)), shorts(world, isOver), echoes(world, isOver)])
    world.heal()
    const joins = world.proxy.requests.slice(before).filter(({ path }) => path.endsWith('/Start')).length
    const seconds = Math.round((performance.now() - end + AT_LEAST_MS) / 1000)
    t.diagnostic(`${BYTES / MIB} MiB each way in ${seconds} s, ${joins} joins, ${short.count} short commands, ${echo.count} echoes`)
    assert.ok(joins >= (proxy === undefined ? 20 : 5), `only ${joins} joins: there were no cuts`)
    assert.deepEqual(down.outcome, { exitCode: 0, signal: null })
    assert.equal(down.bytes, BYTES)
    assert.equal(down.digest, await sum(world, 'down'))
    assert.deepEqual(up.outcome, { exitCode: 7, signal: null })
    assert.equal(up.digest, await sum(world, 'up'))
    assert.deepEqual(short.wrong, [])
    assert.ok(short.count > 5)
    assert.equal(Number(await world.witness('wc -l < count')), short.count)
    assert.deepEqual([echo.rest, echo.outcome], ['', { exitCode: 0, signal: null }])
  })
}

test('C15 a counter that is cut off for half a second at random moments has no gap and no repetition (trap H3)', { timeout: 300_000 }, async () => {
  const world = await link.open()
  const count = 400
  const spill = { maxBytes: 64 * 1024, spill: { maxBytes: MIB } }
  const handles = ['pipe', spill].map(stdout => world.spawn(['sh', '-c', `i=0; while [ $i -lt ${count} ]; do echo $i; i=$((i+1)); sleep .01; done`], { stdout }))
  const [piped, collected] = handles
  let text = ''
  piped.stdout.setEncoding('utf8').on('data', part => { text += part })
  let running = true
  let breaks = 0
  const breaking = (async () => {
    while (running) {
      const seen = text.length
      await until(() => text.length > seen || !running, 30_000, 'the counter to be heard again')
      await new Promise(resolve => setTimeout(resolve, Math.random() * 200))
      world.proxy.bytes = { frozen: true }
      world.proxy.cut()
      await new Promise(resolve => setTimeout(resolve, 500))
      world.heal()
      world.proxy.cut()
      breaks++
    }
  })()
  await Promise.all(handles.map(handle => settled(handle, 'the counter', 120_000)))
  running = false
  await breaking
  assert.ok(breaks >= 3, `${breaks} breaks`)
  const expected = Array.from({ length: count }, (_, i) => `${i}\n`).join('')
  assert.equal(text, expected)
  assert.equal(collected.collected.stdout.readFrom(0).text, expected)
})

test('C15 bytes arrive over a line that carries one at a time, or that closes whenever it is idle', { timeout: 180_000 }, async () => {
  const world = await link.open()
  for (const bytes of [{ trickle: true }, { cutIdleMs: 30 }, { cutAfterMs: 150, how: 'fin' }]) {
    world.proxy.bytes = bytes
    world.proxy.cut()
    const { stdout, exitCode } = await world.sh('for i in 1 2 3 4 5; do echo $i; sleep .1; done; exit 3')
    assert.deepEqual([stdout, exitCode], ['1\n2\n3\n4\n5\n', 3], JSON.stringify(bytes))
  }
})
