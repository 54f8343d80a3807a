import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENCE_MS, PROVIDER, composeAt, matrix, rejection, settled, unless, useWorld } from './world.js'
import { until } from '../support/deadline.js'
import { openMeter } from '../support/meter.js'

const world = useWorld()

/** The spec of a harmless command, with changes. */
function spec(changes) {
  return { argv: ['true'], cwd: world.cwd, graceMs: 1000, stdio: { stdin: 'ignore', stdout: { maxBytes: 10 }, stderr: { maxBytes: 10 } }, ...changes }
}

matrix('C10 D10 an empty argument list or program name is refused at once', () => {
  for (const argv of [[], ['']]) {
    assert.throws(() => world.subprocess.spawn(spec({ argv })), { message: 'invalid argv: expected a non-empty program name at argv[0]' })
  }
})

matrix('C10 D10 a grace that no timer can wait for is refused at once', () => {
  const message = 'subprocess graceMs must be a positive finite number no greater than 2147483647'
  for (const graceMs of [0, -1, NaN, Infinity, -Infinity, 2147483648, undefined, null, '1000']) {
    assert.throws(() => world.subprocess.spawn(spec({ graceMs })), { message }, String(graceMs))
  }
})

matrix('C10 the smallest and the greatest grace are taken', async () => {
  for (const graceMs of [0.5, 1, 2147483647]) {
    assert.deepEqual(await settled(world.subprocess.spawn(spec({ graceMs }))), { exitCode: 0, signal: null })
  }
})

matrix('C10 D10 an aborted signal refuses with its reason', () => {
  const spawn = signal => world.subprocess.spawn(spec({ signal }))
  assert.throws(() => spawn(AbortSignal.abort('the user left')), /^Error: aborted before spawn: the user left$/)
  assert.throws(() => spawn(AbortSignal.abort(new Error('with an error'))), /aborted before spawn: .*with an error/)
  assert.throws(() => spawn(AbortSignal.abort()), /aborted before spawn: /)
  assert.throws(() => spawn({ aborted: true, reason: undefined }), /aborted before spawn: .*aborted/)
  assert.throws(() => spawn({ aborted: true, reason: 'bare' }), /aborted before spawn: bare/)
})

/** Changes of some of a command's descriptors. */
const stdio = changes => ({ stdio: { stdin: 'ignore', stdout: { maxBytes: 10 }, stderr: { maxBytes: 10 }, ...changes } })

/** Specs of wrong types; each message names what is wrong. */
const WRONG = [
  [{ argv: 'true' }, 'argv must be a list of strings'],
  [{ argv: undefined }, 'argv must be a list of strings'],
  [{ argv: [7] }, 'argv[0] must be a string'],
  [{ argv: ['true', { secret: 90210777 }] }, 'argv[1] must be a string'],
  [{ cwd: 90210777 }, 'cwd must be a string'],
  [{ env: { PLAIN: 'x', DB_PASSWORD: 90210777 } }, 'the environment entry "DB_PASSWORD" must be a string or undefined'],
  [{ env: { DB_PASSWORD: { secret: 90210777 } } }, 'the environment entry "DB_PASSWORD" must be a string or undefined'],
  [{ env: 'A=90210777' }, 'env must be an object'],
  [{ stdio: null }, 'stdio must be an object'],
  ...[null, undefined, 'inherit', 90210777].map(stdin => [stdio({ stdin }), /^stdio\.stdin must be /]),
  ...[90210777, [65, 66], new ArrayBuffer(3), { length: 3 }, true].map(data => [stdio({ stdin: { data } }), /^stdio\.stdin\.data must be /]),
  ...[null, undefined, 'ignore'].map(stdout => [stdio({ stdout }), /^stdio\.stdout must be /]),
  [stdio({ stdout: {} }), 'stdio.stdout.maxBytes must be a number'],
  [stdio({ stderr: { maxBytes: 1, spill: { maxBytes: '90210777' } } }), 'stdio.stderr.spill.maxBytes must be a number'],
]

test('C10 C13 C14 a spec of wrong types throws at once, names what is wrong and not its value, and starts nothing', { skip: unless('native') }, async () => {
  // Earlier ones may end meanwhile.
  const earlier = new Set(world.subprocess.live)
  for (const [changes, message] of WRONG) {
    assert.throws(() => world.subprocess.spawn(spec({ argv: ['touch', 'mistyped'], ...changes })), error => {
      assert.deepEqual([error.name, error.code], ['TypeError', 'ERR_INVALID_ARG_TYPE'], error.message)
      if (typeof message === 'string') assert.equal(error.message, message)
      else assert.match(error.message, message)
      assert.doesNotMatch(error.stack, /90210777/)
      return true
    })
    assert.ok([...world.subprocess.live].every(handle => earlier.has(handle)))
  }
  const error = await rejection(world.subprocess.spawnTerminal({ argv: ['touch', 'mistyped'], cwd: world.cwd, rows: 10, cols: 10, graceMs: 1000, env: { DB_PASSWORD: 90210777 } }))
  assert.equal(error.message, 'the environment entry "DB_PASSWORD" must be a string or undefined')
  assert.equal((await world.sh('ls mistyped 2>/dev/null | wc -l')).stdout.trim(), '0')
})

matrix('C13 an environment of null is none', async () => {
  assert.equal((await settled(world.subprocess.spawn(spec({ env: null })))).exitCode, 0)
})

matrix('C13 C19 names and values that the kernel would misread start nothing', async () => {
  const bad = [
    [{ env: { '': 'x' } }, 'an empty name'],
    [{ env: { 'A=B': 'x' } }, 'a name with ='],
    [{ env: { 'A\0': 'x' } }, 'a name with NUL'],
    [{ env: { A: 'x\0y' } }, 'a value with NUL'],
    [{ argv: ['touch', 'made\0it'] }, 'an argument with NUL'],
    [{ argv: ['tou\0ch', 'made'] }, 'a program with NUL'],
    [{ cwd: '/tmp\0/x' }, 'a cwd with NUL'],
  ]
  for (const [changes, what] of bad) {
    const error = await rejection((async () => world.subprocess.spawn(spec({ argv: ['touch', 'made'], ...changes })).done)(), what)
    if (PROVIDER === 'native') assert.deepEqual([error.name, error.code], ['TypeError', 'ERR_INVALID_ARG_VALUE'], what)
  }
  assert.equal((await world.sh('ls made* 2>/dev/null | wc -l')).stdout.trim(), '0')
})

matrix('C13 C19 a refused command is gone and ends its streams', async () => {
  const handle = (() => {
    try {
      return world.subprocess.spawn(spec({ env: { 'A=B': 'x' }, stdio: { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' } }))
    } catch {
      return undefined
    }
  })()
  if (handle === undefined) return
  handle.stdout.resume()
  handle.stderr.resume()
  await rejection(handle.done)
  assert.equal(handle.pid, -1)
  assert.equal(await handle.waitForExit(), true)
})

matrix('D20 a handle has exactly the ends that were asked for', async () => {
  const collected = world.subprocess.spawn(spec())
  assert.deepEqual(Object.keys(collected.collected).sort(), ['stderr', 'stdout'])
  assert.deepEqual([collected.stdin, collected.stdout, collected.stderr], [undefined, undefined, undefined])
  const mixed = world.subprocess.spawn(spec({ stdio: { stdin: 'pipe', stdout: 'pipe', stderr: { maxBytes: 10 } } }))
  assert.deepEqual(Object.keys(mixed.collected), ['stderr'])
  assert.equal(typeof mixed.stdin.write, 'function')
  assert.equal(typeof mixed.stdout.read, 'function')
  assert.equal(mixed.stderr, undefined)
  mixed.stdout.resume()
  mixed.stdin.end()
  await Promise.all([settled(collected), settled(mixed)])
})

test('C10 nothing of a refused command reaches the sandbox', { skip: unless('sandboxd') }, async () => {
  const meter = await openMeter(world.server)
  const before = await meter.requests()
  assert.throws(() => world.subprocess.spawn(spec({ argv: [] })))
  assert.throws(() => world.subprocess.spawn(spec({ graceMs: 0 })))
  assert.throws(() => world.subprocess.spawn(spec({ signal: AbortSignal.abort() })))
  await assert.rejects(async () => world.subprocess.spawn(spec({ env: { '': 'x' } })).done)
  await assert.rejects(async () => world.subprocess.spawn(spec({ argv: ['a\0'] })).done)
  await new Promise(setImmediate)
  assert.equal(await meter.requests(), before)
  await meter.close()
})

test('control: a command by the vendor\'s SDK reaches the sandbox by requests that the same count sees', { skip: unless('sandboxd') }, async () => {
  const meter = await openMeter(world.server)
  const before = await meter.requests()
  await world.witness('true')
  assert.ok(await meter.requests() > before)
  await meter.close()
})

matrix('C10 D14 after disposal began every spawn is refused', async () => {
  const other = await composeAt(world.server)
  await other.sandbox()
  const busy = other.subprocess.spawn(spec({ cwd: other.cwd, argv: ['sleep', '300'] }))
  const ending = other.dispose()
  const refusal = await until(() => {
    try {
      other.subprocess.spawn(spec({ cwd: other.cwd }))
    } catch (error) {
      return error
    }
    return undefined
  }, PATIENCE_MS, 'a refusal', 1)
  assert.match(refusal.message, /service is disposing/)
  await settled(busy)
  await ending
  assert.throws(() => other.subprocess.spawn(spec({ cwd: other.cwd })), /service is disposing/)
})
