import assert from 'node:assert/strict'
import { runHarness, startHarness } from './harness.js'
import { PATIENCE_MS, matrix, useWorld } from './world.js'
import { until } from '../support/deadline.js'

const world = useWorld()

matrix('C16 inherited output goes to the harness\' own streams, each to its own', { timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const handle = world.spawn(['sh', '-c', 'echo out; echo err >&2; exit 3'], { stdout: 'inherit', stderr: 'inherit' })
    const outcome = await lib.settled(handle)
    const ends = [handle.stdout, handle.stderr, Object.keys(handle.collected).length]
    process.stdout.write(`after done ${JSON.stringify([outcome, ends])}\n`)
    await world.composition.dispose()
  })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, 'out\nafter done [{"exitCode":3,"signal":null},[null,null,0]]\n')
  assert.equal(stderr, 'err\n')
})

matrix('C16 a harness whose reader is slow gets every byte, in order and before done is told', { timeout: 120_000 }, async () => {
  const harness = startHarness(world, async (world, lib) => {
    const handle = world.spawn(['seq', '1', '400000'], { stdout: 'inherit' })
    await lib.settled(handle)
    process.stdout.write('done\n')
    await world.composition.dispose()
  })
  harness.child.stdout.pause()
  setTimeout(() => harness.child.stdout.resume(), 1500)
  const { code, stdout, stderr } = await harness.ended(90_000)
  assert.equal(code, 0, stderr)
  const lines = stdout.trimEnd().split('\n')
  assert.equal(lines.length, 400_001)
  assert.ok(lines.slice(0, -1).every((line, at) => line === String(at + 1)))
  assert.equal(lines.at(-1), 'done')
})

matrix('C16 C18 a harness whose reader has stopped makes the program wait instead of filling memory', { timeout: 120_000 }, async () => {
  const harness = startHarness(world, async (world, lib) => {
    const handle = world.spawn(['sh', '-c', 'yes | head -c 300000000'], { stdout: 'inherit', graceMs: 300 })
    let over = false
    handle.done.then(() => { over = true })
    const before = process.memoryUsage.rss()
    await world.sh('sleep 1.5')
    const grown = process.memoryUsage.rss() - before
    process.stderr.write(`REPORT ${JSON.stringify({ over, grown })}\n`)
    handle.terminate()
    process.exit(0)
  })
  harness.child.stdout.pause()
  const [, report] = await until(() => harness.text.stderr.match(/REPORT (.*)\n/), PATIENCE_MS, 'the report')
  harness.child.stdout.resume()
  await harness.ended()
  const { over, grown } = JSON.parse(report)
  assert.equal(over, false)
  assert.ok(grown < 64 * 1024 * 1024, `grew by ${grown}`)
})

matrix('C16 C22 a holder of inherited output does not hold the outcome', { timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const handle = world.spawn(['bash', '-c', 'sleep 300 & echo hi; exit 4'], { stdout: 'inherit', stderr: 'inherit', graceMs: 300 })
    const outcome = await lib.settled(handle, 'the shell', 10_000)
    process.stdout.write(JSON.stringify(outcome))
    handle.terminate()
    await lib.gone(handle)
    await world.composition.dispose()
  })
  assert.equal(code, 0, stderr)
  assert.equal(stdout, 'hi\n{"exitCode":4,"signal":null}')
})

matrix('C16 a harness whose own output is closed lives on, and so does the command', { timeout: 120_000 }, async () => {
  const harness = startHarness(world, async (world, lib) => {
    process.stdout.on('error', () => {})
    process.stderr.write('READY\n')
    const handle = world.spawn(['sh', '-c', 'for i in $(seq 1 40); do echo line; sleep 0.02; done; exit 6'], { stdout: 'inherit', graceMs: 300 })
    const outcome = await lib.settled(handle)
    process.stderr.write(`REPORT ${JSON.stringify(outcome)}\n`)
    await world.composition.dispose()
  })
  await until(() => harness.text.stderr.includes('READY'), PATIENCE_MS, 'the harness')
  harness.child.stdout.destroy()
  const { code, stderr } = await harness.ended()
  assert.equal(code, 0, stderr)
  const { exitCode, signal } = JSON.parse(stderr.match(/REPORT (.*)\n/)[1])
  // It hears of a broken pipe as it would from a terminal that was closed, or never notices.
  assert.ok(exitCode === 6 || signal === 'SIGPIPE' || exitCode > 0, `${exitCode} ${signal}`)
})

matrix('C16 C30 C60 a harness whose reader has stopped hears of the end, and ends, all the same', { timeout: 120_000 }, async () => {
  const harness = startHarness(world, async (world, lib) => {
    const short = world.spawn(['sh', '-c', 'sleep 0.5; echo a few bytes; exit 5'], { stdout: 'inherit', graceMs: 300 })
    const long = world.spawn(['yes'], { stdout: 'inherit' })
    const outcomes = [await lib.settled(short, 'the short one', 20_000)]
    long.terminate()
    outcomes.push(await lib.settled(long, 'the long one', 20_000))
    const began = performance.now()
    await world.endProvider()
    process.stderr.write(`REPORT ${JSON.stringify({ outcomes, errors: world.errors.map(String), took: performance.now() - began })}\n`)
    process.exit(0)
  })
  harness.child.stdout.pause()
  const [, report] = await until(() => harness.text.stderr.match(/REPORT (.*)\n/), 60_000, 'the report')
  const { outcomes, errors, took } = JSON.parse(report)
  assert.deepEqual(outcomes, [{ exitCode: 5, signal: null }, { exitCode: null, signal: 'SIGTERM' }])
  assert.deepEqual(errors, [])
  assert.ok(took < 8_000, `disposal took ${took} ms`)
  await harness.ended()
})
