/** Many terminals, and those that nobody reads: what they cost, and whom they disturb. */
import assert from 'node:assert/strict'
import { runHarness } from '../commands/harness.js'
import { EXTENDED, PATIENCE_MS, matrix, open, until, untilTerminals, useWorld, within } from './world.js'

const world = useWorld()

matrix('C51 a hundred terminals at once all echo, each its own', async t => {
  const begun = performance.now()
  const screens = await Promise.all(Array.from({ length: 100 }, () => open(world, ['sh', '-c', 'stty -echo; echo up; exec cat'])))
  await Promise.all(screens.map(screen => screen.shows('up\r\n')))
  t.diagnostic(`a hundred are ready in ${(performance.now() - begun).toFixed(0)} ms`)
  assert.equal(new Set(screens.map(({ pid }) => pid)).size, 100)
  const echoing = performance.now()
  await Promise.all(screens.map((screen, at) => screen.ask(`line of ${at}`, `line of ${at}\r\n`)))
  t.diagnostic(`a hundred echo in ${(performance.now() - echoing).toFixed(0)} ms`)
  for (const [at, screen] of screens.entries()) assert.equal(screen.text, `up\r\nline of ${at}\r\n`)
  await Promise.all(screens.map(screen => screen.close()))
  await untilTerminals(world, 0)
})

matrix('C56 megabytes that a paused reader leaves alone hold 8 MiB of the host or less', { timeout: 10 * PATIENCE_MS }, async t => {
  const bytes = EXTENDED ? 100_000_000 : 12_000_000
  const result = await runHarness(world, async (inner, { until }) => {
    const open = (argv, more) => inner.subprocess.spawnTerminal({ argv, cwd: inner.cwd, rows: 24, cols: 80, graceMs: 200, ...more })
    const other = await open(['sh', '-c', 'stty raw -echo; exec cat'])
    let echoed = ''
    other.output.on('data', chunk => { echoed += chunk })
    /** Types keys, and looks how large the process becomes and how long an echo takes. */
    const keys = async count => {
      const most = { rss: 0, ms: 0 }
      for (let round = 0; round < count; round++) {
        const { length } = echoed
        const begun = performance.now()
        await other.write('k')
        await until(() => echoed.length > length, 20_000, 'the echo', 1)
        most.ms = Math.max(most.ms, performance.now() - begun)
        most.rss = Math.max(most.rss, process.memoryUsage().rss)
      }
      return most
    }
    // What terminals and typing cost once is not the question.
    const warm = await open(['seq', '1', '200000'])
    for await (const chunk of warm.output) void chunk
    globalThis.gc()
    const before = await keys(60)
    const terminal = await open(['sh', '-c', `yes | head -c ${process.env.TEST_BYTES}`])
    const beside = await keys(60)
    const held = await inner.sh('pgrep -c -x yes')
    let total = 0
    for await (const chunk of terminal.output) total += chunk.length
    await other.terminate()
    console.log(JSON.stringify({ grownMiB: (beside.rss - before.rss) / 2 ** 20, slowestMs: beside.ms, held: held.stdout.trim(), total, done: await terminal.done }))
  }, { node: ['--expose-gc', '--max-semi-space-size=1'], env: { TEST_BYTES: String(bytes) }, ms: 9 * PATIENCE_MS })
  assert.equal(result.code, 0, result.stderr)
  const { grownMiB, slowestMs, held, total, done } = JSON.parse(result.stdout)
  t.diagnostic(`${grownMiB.toFixed(1)} MiB more; slowest echo beside it ${slowestMs.toFixed(1)} ms`)
  assert.equal(held, '1', 'control: the program waits for its reader')
  assert.equal(total, bytes * 1.5, 'each line end becomes two bytes')
  assert.deepEqual(done, { exitCode: 0, signal: null })
  assert.ok(grownMiB <= 8, `${grownMiB} MiB`)
  assert.ok(slowestMs < 5000)
})

matrix('C56 fifty unread terminals hold no other command and no other terminal up', async () => {
  const floods = await Promise.all(Array.from({ length: 50 }, () => open(world, ['yes'], { unread: true })))
  const other = await open(world, ['sh', '-c', 'stty -echo; echo up; exec cat'])
  await other.shows('up')
  for (let round = 0; round < 10; round++) {
    await other.ask(`line ${round}`, `line ${round}\r\n`)
    const { stdout } = await world.run(['echo', 'beside'])
    assert.equal(stdout, 'beside\n')
  }
  await within(Promise.all(floods.map(screen => screen.close())), PATIENCE_MS, 'the end of the floods')
  await until(async () => (await world.witness('pgrep -c -x yes || true', { user: 'root' })).trim() === '0', PATIENCE_MS, 'no flood')
  await other.close()
})

matrix('C60 a harness that is done with its terminals exits by itself', async () => {
  const result = await runHarness(world, async inner => {
    const terminal = await inner.subprocess.spawnTerminal({ argv: ['cat'], cwd: inner.cwd, rows: 24, cols: 80, graceMs: 200 })
    terminal.output.resume()
    await terminal.write('\x04')
    console.log(JSON.stringify(await terminal.done))
  })
  assert.equal(result.stderr, '')
  assert.equal(result.stdout, '{"exitCode":0,"signal":null}\n')
  assert.equal(result.code, 0)
})
