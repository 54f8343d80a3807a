import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXTENDED, gone, says, settled, unless, useWorld, PATIENCE_MS } from './world.js'
import { until } from '../support/deadline.js'
import { hook } from './hook.js'

const world = useWorld()
const options = { skip: unless('sandboxd') || unless('native'), timeout: 180_000 }
/** How long the line stays cut: far beyond every grace here. */
const CUT_MS = EXTENDED ? 30_000 : 3_000
const GRACE_MS = 200
/** Fits the kernel's pipe, so that its writer exits beside a full one; and fits nothing, so that its writer waits for the line. */
const SIZES = { small: 60_000, large: 24 * 1024 * 1024 }
const MODES = { collected: { maxBytes: 32 * 1024 * 1024 }, raw: 'pipe' }

/** Starts what writes once the line is cut, and says when it exits. */
async function writer(name, size, mode) {
  const script = `echo up >&2; until [ -e ${name}.go ]; do sleep 0.02; done; head -c ${size} /dev/zero; touch ${name}.exit; exit 5`
  const handle = world.spawn(['sh', '-c', script], { stdout: MODES[mode], graceMs: GRACE_MS })
  await says(handle, /up/, 'stderr')
  let raw = 0
  handle.stdout?.on('data', chunk => { raw += chunk.length })
  return { name, handle, size, length: () => handle.collected.stdout?.readFrom(0).nextOffset ?? raw }
}

test('C22 a program that exits beside a full pipe while the line is cut loses no byte and keeps its code', options, async () => {
  const writers = []
  for (const mode of Object.keys(MODES)) {
    for (const [word, size] of Object.entries(SIZES)) writers.push(await writer(`${mode}-${word}`, size, mode))
  }
  let early = 0
  for (const { handle } of writers) handle.done.then(() => { early += 1 })
  const sandbox = await world.composition.sandbox()
  const { sandboxId } = sandbox
  const admin = hook(world.server)
  // Only the ways of commands are shut: the vendor's SDK tells the writers by a file, and hears of their ends.
  await admin.faults(sandboxId, { refuse: [{ path: '/process.Process', status: 503 }] })
  await admin.cut(sandboxId)
  const shut = performance.now()
  for (const { name } of writers) await sandbox.files.write(`${world.cwd}/${name}.go`, '')
  for (const mode of Object.keys(MODES)) {
    await until(() => sandbox.files.exists(`${world.cwd}/${mode}-small.exit`), PATIENCE_MS, 'the end of a small one', 50)
  }
  await new Promise(go => setTimeout(go, CUT_MS - (performance.now() - shut)))
  assert.equal(early, 0, 'nobody can know of an outcome yet')
  await admin.faults(sandboxId, {})
  for (const { name, handle, size, length } of writers) {
    assert.deepEqual(await settled(handle, name, 2 * PATIENCE_MS), { exitCode: 5, signal: null }, name)
    assert.equal(length(), size, name)
    assert.equal(await gone(handle), true)
  }
})
