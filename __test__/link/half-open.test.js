import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXTENDED, PATIENCE_MS, end, gone, says, settled, text, useLink } from './world.js'
import { until, within } from '../support/deadline.js'

const link = useLink()
const SILENCE_MS = 1200

/** From the moment on at which nothing passes any more, until an echo comes back. */
async function recovery(world, breakIt) {
  const handle = world.spawn(['cat'], { stdin: 'pipe' })
  handle.stdin.write('before\n')
  await says(handle, /before/)
  breakIt(world.proxy)
  const start = performance.now()
  handle.stdin.write('after\n')
  await until(() => text(handle).includes('after'), 60_000, 'the echo')
  const took = performance.now() - start
  handle.stdin.end()
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
  assert.equal(text(handle), 'before\nafter\n')
  return took
}

test('a connection that stops carrying bytes without closing is replaced within the bound of silence (traps B4, H1)', async () => {
  const world = await link.open({ silenceMs: SILENCE_MS })
  const took = await recovery(world, proxy => proxy.freeze())
  assert.ok(took >= SILENCE_MS / 3, `${took} ms: was anything frozen?`)
  assert.ok(took < SILENCE_MS + 2_500, `${took} ms`)
})

test('a server that is not heard behind a proxy that itself lives is noticed by what its programs do not say (traps B4, H6)', async () => {
  const world = await link.open({ silenceMs: SILENCE_MS })
  const handle = world.spawn(['cat'], { stdin: 'pipe' })
  world.proxy.upstreamSilent = true
  const before = world.proxy.requests.length
  await until(() => world.proxy.requests.length > before + 1, 10_000, 'another attempt')
  world.proxy.upstreamSilent = false
  handle.stdin.write('after\n')
  await says(handle, /after/)
  await end(handle)
})

test('while nothing passes at all, new connections included, a command waits, and goes on afterwards (trap B4)', async () => {
  const world = await link.open({ silenceMs: 600 })
  const took = await recovery(world, proxy => {
    proxy.bytes = { frozen: true }
    proxy.freeze()
    setTimeout(() => { proxy.bytes = {} }, 3_000)
  })
  assert.ok(took > 2_500 && took < 3_000 + PATIENCE_MS / 3, `${took} ms`)
})

test('C30 C60 terminate and disposal have bounds while nothing passes, and say what they could not reach (trap B4)', { timeout: 90_000 }, async () => {
  const world = await link.open({ silenceMs: 600 })
  const handle = world.spawn(['sh', '-c', 'echo up; exec sleep 600'], { graceMs: 300 })
  await says(handle, /up/)
  world.proxy.bytes = { frozen: true }
  world.proxy.freeze()
  handle.terminate()
  const over = new AbortController()
  setTimeout(() => over.abort(), 500)
  assert.equal(await handle.waitForExit(over.signal), false)
  const start = performance.now()
  await world.dispose()
  assert.match(world.errors.map(String).join(), /could not be reached to end sh \(pid \d+\)/)
  assert.ok(performance.now() - start < 16_000, `${performance.now() - start} ms`)
})

test('one stream that nobody reads any more does not starve the next one (trap H1)', { timeout: 120_000 }, async () => {
  const world = await link.open({ silenceMs: SILENCE_MS })
  const handle = world.spawn(['bash', '-c', 'while read l; do head -c 8000 /dev/zero | tr "\\0" X; echo; done'], { stdin: 'pipe', stdout: 'pipe' })
  const lines = handle.stdout[Symbol.asyncIterator]()
  let got = 0
  for (let cycle = 1; cycle <= 4; cycle++) {
    // The proxy goes on holding the former stream open and reads nothing of it.
    if (cycle > 1) world.proxy.freeze()
    for (let i = 0; i < 20; i++) handle.stdin.write('x\n')
    while (got < cycle * 20 * 8001) got += (await within(lines.next(), PATIENCE_MS, `answers of cycle ${cycle}`)).value.length
    assert.equal(got, cycle * 20 * 8001)
  }
  await end(handle)
  await gone(handle)
})

test('with the default settings a half-open connection is replaced within 15 s', { timeout: 60_000, skip: !EXTENDED && 'takes 15 s' }, async () => {
  const world = await link.open()
  const took = await recovery(world, proxy => proxy.freeze())
  assert.ok(took > 5_000 && took < 17_000, `${took} ms`)
})
