/** Calling an opening off: at each moment it is either taken back whole or has no effect. */
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { World } from '../commands/world.js'
import { compose } from '../support/composition.js'
import { openLine } from '../support/line.js'
import { EXTENDED, PATIENCE_MS, PROVIDER, Screen, mark, matrix, open, refusal, rejection, until, untilTerminals, useWorld, within } from './world.js'

const world = useWorld()
const opening = (other, argv, signal) => other.subprocess.spawnTerminal({ argv, cwd: other.cwd, rows: 24, cols: 80, graceMs: 300, signal })

matrix('C55 D13 a signal that is aborted before rejects with its reason itself, and nothing starts', async () => {
  const sleeper = mark()
  for (const reason of ['text', new Error('own'), 7, { odd: true }, null]) {
    assert.equal(await refusal(world, ['sleep', sleeper], { signal: AbortSignal.abort(reason) }), reason)
  }
  assert.equal((await refusal(world, ['sleep', sleeper], { signal: AbortSignal.abort() })).name, 'AbortError')
  assert.equal(await world.sleepers(sleeper), 0)
})

matrix('C55 an abort while the sandbox is being made rejects at once, and nothing starts later', async () => {
  const other = new World()
  other.server = world.server
  other.composition = await compose(world.server, { provider: PROVIDER })
  other.subprocess = other.composition.subprocess
  const sleeper = mark()
  const controller = new AbortController()
  const terminal = opening(other, ['sleep', sleeper], controller.signal)
  controller.abort('too slow')
  assert.equal(await rejection(terminal, 'the opening'), 'too slow')
  await other.composition.sandbox()
  await other.run(['true'])
  assert.equal(await other.sleepers(sleeper), 0)
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  await other.composition.dispose()
})

matrix('C55 an abort at any moment of the opening is either whole or without effect', async t => {
  const rounds = EXTENDED ? 300 : 40
  const count = { rejected: 0, published: 0 }
  const lane = async first => {
    for (let round = first; round < rounds; round += 4) await one(round)
  }
  const one = async round => {
    const sleeper = mark()
    const controller = new AbortController()
    const terminal = opening(world, ['sh', '-c', `trap "" TERM HUP; sleep ${sleeper} & sleep ${sleeper}`], controller.signal)
    const steps = (round >> 2) % 8
    const reason = { round }
    // Turns of the event loop, then fractions of a millisecond: the answer comes somewhere between.
    if (steps === 0) controller.abort(reason)
    else if (steps === 1) queueMicrotask(() => controller.abort(reason))
    else if (steps === 2) setImmediate(() => controller.abort(reason))
    else setTimeout(() => controller.abort(reason), steps * 2 - 5)
    const result = await within(terminal.then(handle => ({ handle }), error => ({ error })), PATIENCE_MS, 'an opening')
    if (result.handle === undefined) {
      assert.equal(result.error, reason)
      assert.equal(await world.sleepers(sleeper), 0, 'taken back before it is told')
      count.rejected++
    } else {
      await until(() => controller.signal.aborted, PATIENCE_MS, 'the late abort')
      await world.untilSleepers(sleeper, 2)
      count.published++
      await new Screen(result.handle).read().close()
      assert.equal(await world.sleepers(sleeper), 0)
    }
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  }
  await Promise.all([0, 1, 2, 3].map(lane))
  t.diagnostic(JSON.stringify(count))
  assert.ok(count.rejected > 0)
  await untilTerminals(world, 0)
})

matrix('C55 after publication the signal has no effect, whatever becomes of it', async () => {
  const controller = new AbortController()
  const screen = await open(world, ['cat'], { signal: controller.signal })
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  controller.abort('late')
  await screen.type('still here\r')
  await screen.shows('still here\r\nstill here\r\n')
  await screen.close()
})

matrix('C55 one signal for many openings takes them all back, without a warning of Node', async t => {
  const warnings = []
  const onWarning = warning => warnings.push(warning.message)
  process.on('warning', onWarning)
  t.after(() => process.off('warning', onWarning))
  const sleeper = mark()
  const controller = new AbortController()
  const terminals = Array.from({ length: 20 }, () => opening(world, ['sleep', sleeper], controller.signal))
  controller.abort('all')
  for (const terminal of terminals) assert.equal(await rejection(terminal, 'an opening'), 'all')
  assert.deepEqual(warnings, [])
  assert.equal(getEventListeners(controller.signal, 'abort').length, 0)
  assert.equal(await world.sleepers(sleeper), 0)
  await untilTerminals(world, 0)
})

matrix('C55 an abort while the line is silent is taken back when it speaks again', { skip: process.env.DSH_TEST_E2B_API_URL !== undefined && 'needs a line of its own' }, async t => {
  const line = await openLine(world.server.sandboxUrl)
  t.after(() => line.close())
  const behind = new World()
  behind.server = { ...world.server, sandboxUrl: line.url }
  await behind.open({ silenceMs: 600 })
  t.after(() => behind.composition.dispose())
  const sleeper = mark()
  const controller = new AbortController()
  line.silent = true
  const terminal = opening(behind, ['sleep', sleeper], controller.signal)
  terminal.catch(() => {})
  await world.run(['true'])
  controller.abort('cut off')
  line.silent = false
  assert.equal(await rejection(terminal, 'the opening'), 'cut off')
  const { stdout } = await behind.sh(`pgrep -f '^sleep ${sleeper}' | wc -l`)
  assert.equal(stdout.trim(), '0')
})
