import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHarness } from './harness.js'
import { PATIENCE_MS, matrix, unless, useWorld } from './world.js'
import { until } from '../support/deadline.js'

const world = useWorld()

matrix('C20 handles that nobody keeps run to their end', { timeout: 90_000 }, async () => {
  for (let at = 0; at < 20; at += 1) world.spawn(['sh', '-c', `echo x >> dropped; exit ${at}`])
  await until(async () => (await world.sh('wc -l < dropped 2>/dev/null')).stdout.trim() === '20', PATIENCE_MS, 'all lines')
})

test('C20 C64 the garbage collection of handles neither ends nor leaks their commands', { skip: unless('native'), timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const COUNT = 12
    const script = 'echo up >> up; until [ -e go ]; do sleep 0.05; done; echo over >> over; exit 3'
    const outputs = [{ maxBytes: 1000 }, 'pipe', { maxBytes: 1000, spill: { maxBytes: 100_000 } }]
    const refs = Array.from({ length: COUNT }, (_, at) => new WeakRef(world.spawn(['sh', '-c', script], {
      stdin: at % 2 ? 'pipe' : 'ignore', stdout: outputs[at % 3],
    })))
    const lines = async name => Number((await world.sh(`cat ${name} 2>/dev/null | wc -l`)).stdout)
    const held = () => refs.filter(ref => ref.deref() !== undefined).length
    const collect = async () => {
      gc()
      await new Promise(setImmediate)
    }
    await lib.until(async () => (await lines('up')) === COUNT, 30_000, 'all commands')
    for (let at = 0; at < 10; at += 1) await collect()
    const overEarly = await lines('over')
    await world.sh('touch go')
    await lib.until(async () => (await lines('over')) === COUNT, 30_000, 'all ends')
    await lib.until(async () => {
      await collect()
      return held() === 0
    }, 30_000, 'the last handle to be collected').catch(() => {})
    const left = (await world.sh(`pgrep -fc "[u]ntil .* go"`)).stdout.trim()
    // The tree of the last question may end after its outcome.
    await lib.until(() => world.subprocess.live.size === 0, 30_000, 'no handle to be known').catch(() => {})
    const known = world.subprocess.live.size
    process.stdout.write(JSON.stringify({ overEarly, held: held(), left, known }))
    await world.composition.dispose()
  }, { node: ['--expose-gc'] })
  assert.equal(code, 0, stderr)
  assert.deepEqual(JSON.parse(stdout), { overEarly: 0, held: 0, left: '0', known: 0 })
})

test('C64 a handle whose output was read long after its end is not kept', { skip: unless('native'), timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const read = async () => {
      const handle = world.spawn(['printf', 'x'], { stdout: 'pipe' })
      await handle.done
      await handle.waitForExit()
      for (let at = 0; at < 5; at += 1) await new Promise(setImmediate)
      let text = ''
      for await (const chunk of handle.stdout) text += chunk
      return [text, new WeakRef(handle)]
    }
    const [text, ref] = await read()
    await lib.until(async () => {
      gc()
      await new Promise(setImmediate)
      return ref.deref() === undefined
    }, 10_000, 'the handle to be collected').catch(() => {})
    process.stdout.write(JSON.stringify([text, ref.deref() === undefined]))
    await world.composition.dispose()
  }, { node: ['--expose-gc'] })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, '["x",true]')
})

test('control: a handle that somebody keeps is not collected', { skip: unless('native'), timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const kept = world.spawn(['true'])
    const ref = new WeakRef(kept)
    await lib.settled(kept)
    for (let at = 0; at < 10; at += 1) {
      gc()
      await new Promise(setImmediate)
    }
    process.stdout.write(JSON.stringify([ref.deref() === kept]))
    await world.composition.dispose()
  }, { node: ['--expose-gc'] })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, '[true]')
})
