import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runHarness } from './harness.js'
import { EXTENDED, PROVIDER, matrix, unless, useWorld } from './world.js'

const world = useWorld()
const MIB = 1024 * 1024
/** The original is given less: what it cannot do takes it for ever. */
const LONG = { timeout: PROVIDER === 'ts' ? 60_000 : EXTENDED ? 900_000 : 180_000 }

/** Runs a body that prints one line of JSON last, in a harness of its own. */
async function report(body, env = {}) {
  const { code, stdout, stderr } = await runHarness(world, body, { node: ['--expose-gc'], env, ms: LONG.timeout - 10_000 })
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout.trim().split('\n').at(-1))
}

// https://github.com/mastra-ai/mastra/issues/24346
matrix('C18 the memory of collected output is its window whatever the output\'s size (trap I2)', LONG, async () => {
  const result = await report(async (world, lib) => {
    const sizes = JSON.parse(process.env.SIZES)
    let peak = 0
    const measure = () => { peak = Math.max(peak, process.memoryUsage.rss()) }
    const run = async size => {
      gc()
      const idle = process.memoryUsage.rss()
      peak = 0
      const timer = setInterval(measure, 20)
      const handles = Array.from({ length: 3 }, () => world.spawn(['sh', '-c', `yes | head -c ${size}`], { stdout: { maxBytes: 65_536, spill: { maxBytes: 1024 * 1024 } } }))
      await Promise.all(handles.map(handle => lib.settled(handle, 'bulk', 500_000)))
      clearInterval(timer)
      measure()
      const reads = handles.map(handle => handle.collected.stdout.readFrom(0))
      const exact = reads.every(({ text, nextOffset, lossy, spillPath }) => text === 'y\n'.repeat(32_768) && nextOffset === size && lossy && spillPath === undefined)
      return { grown: peak - idle, exact }
    }
    await run(sizes[0])
    const small = await run(sizes[0])
    const large = await run(sizes[1])
    await world.composition.dispose()
    process.stdout.write(JSON.stringify({ small, large }))
  }, { SIZES: JSON.stringify([10 * MIB, EXTENDED ? 3584 * MIB : 192 * MIB]) })
  assert.ok(result.small.exact && result.large.exact, 'the exact last bytes, no spill over its cap')
  assert.ok(result.large.grown < result.small.grown + 32 * MIB, JSON.stringify(result))
})

// https://github.com/e2b-dev/code-interpreter/issues/251
matrix('C18 a large output in one line or in many leaves the event loop free (trap I1)', LONG, async () => {
  const result = await report(async (world, lib) => {
    const { monitorEventLoopDelay } = await import('node:perf_hooks')
    const scripts = ['head -c 22000000 /dev/zero | tr "\\0" x', 'yes 12345678 | head -c 22000000']
    const delays = []
    const idle = process.memoryUsage.rss()
    for (const script of scripts) {
      const histogram = monitorEventLoopDelay({ resolution: 10 })
      histogram.enable()
      const handle = world.spawn(['sh', '-c', script], { stdout: { maxBytes: 65_536 } })
      await lib.settled(handle)
      histogram.disable()
      delays.push(histogram.percentile(90) / 1e6)
    }
    await world.composition.dispose()
    process.stdout.write(JSON.stringify({ delays, grown: process.memoryUsage.rss() - idle }))
  })
  // A machine with other work delays any loop: half of the time it must be free all the same.
  assert.ok(Math.max(...result.delays) < 100, JSON.stringify(result))
  assert.ok(result.grown < 32 * MIB, JSON.stringify(result))
})

// https://github.com/BoundaryML/baml/pull/3571
matrix('C15 C18 a busy JavaScript thread and a paused reader make the program wait, and lose nothing (trap I4)', LONG, async () => {
  const size = (EXTENDED ? 2048 : 128) * MIB
  const result = await report(async (world, lib) => {
    const size = Number(process.env.SIZE)
    gc()
    const idle = process.memoryUsage.rss()
    const handle = world.spawn(['sh', '-c', `yes | head -c ${size}`], { stdout: 'pipe' })
    let length = 0
    await lib.within(new Promise(resolve => handle.stdout.once('readable', resolve)), 30_000, 'the first bytes')
    const busy = performance.now() + 1_500
    while (performance.now() < busy);
    const afterBusy = process.memoryUsage.rss() - idle
    await new Promise(go => setTimeout(go, 1_000))
    const afterPause = process.memoryUsage.rss() - idle
    handle.stdout.on('data', chunk => { length += chunk.length })
    await lib.within(new Promise(resolve => handle.stdout.once('end', resolve)), 500_000, 'all of it')
    await lib.settled(handle)
    await world.composition.dispose()
    process.stdout.write(JSON.stringify({ afterBusy, afterPause, length }))
  }, { SIZE: String(size) })
  assert.equal(result.length, size)
  assert.ok(result.afterBusy < 48 * MIB && result.afterPause < 48 * MIB, JSON.stringify(result))
})

// https://github.com/napi-rs/napi-rs/issues/1327
matrix('C15 C18 chunks that are kept live on after their handle, and those that are not are freed (trap I5)', LONG, async () => {
  const rounds = EXTENDED ? 50 : 10
  const result = await report(async (world, lib) => {
    // Two MB in small pieces, which are copied, and ten in large ones, which are not.
    const script = 'import os\nfor i in range(2000): os.write(1,b"%06d\\n"%i+b"."*993)\nfor i in range(160): os.write(1,b"%06d\\n"%i+b"-"*65529)'
    const round = Buffer.concat([
      ...Array.from({ length: 2000 }, (_, at) => Buffer.from(`${String(at).padStart(6, '0')}\n${'.'.repeat(993)}`)),
      ...Array.from({ length: 160 }, (_, at) => Buffer.from(`${String(at).padStart(6, '0')}\n${'-'.repeat(65_529)}`)),
    ])
    const kept = []
    let length = 0
    const run = async () => {
      let handle = world.spawn(['python3', '-c', script], { stdout: 'pipe' })
      handle.stdout.on('data', chunk => {
        length += chunk.length
        if (kept.length < 50) kept.push(chunk)
      })
      await lib.within(new Promise(resolve => handle.stdout.once('end', resolve)), 60_000, 'all of it')
      await lib.settled(handle)
      handle = undefined
    }
    const collect = async () => {
      for (let at = 0; at < 3; at += 1) {
        gc()
        await new Promise(setImmediate)
      }
    }
    await run()
    await run()
    await collect()
    const before = process.memoryUsage.rss()
    const rounds = Number(process.env.ROUNDS)
    for (let at = 0; at < rounds; at += 1) await run()
    await collect()
    const grown = process.memoryUsage.rss() - before
    const whole = Buffer.concat(kept)
    const wanted = Buffer.concat(Array.from({ length: Math.ceil(whole.length / round.length) }, () => round)).subarray(0, whole.length)
    await world.composition.dispose()
    process.stdout.write(JSON.stringify({ grown, rounds: length / round.length, whole: whole.equals(wanted) }))
  }, { ROUNDS: String(rounds) })
  assert.ok(result.whole, 'kept chunks are as they came')
  assert.equal(result.rounds, rounds + 2)
  // What passed is twice as much at least.
  assert.ok(result.grown < 60 * MIB, JSON.stringify(result))
})

matrix('C14 C18 input that nobody reads costs no more than what was written and its windows', LONG, async () => {
  const result = await report(async (world, lib) => {
    gc()
    const idle = process.memoryUsage.rss()
    const handles = Array.from({ length: 4 }, () => world.spawn(['sleep', '300'], { stdin: 'pipe' }))
    let written = 0
    for (const handle of handles) {
      for (let at = 0; at < 10_000; at += 1) {
        written += 65_536
        if (!handle.stdin.write(Buffer.alloc(65_536))) break
      }
    }
    await world.sh('true')
    const grown = process.memoryUsage.rss() - idle
    for (const handle of handles) handle.terminate()
    await Promise.all(handles.map(handle => lib.settled(handle)))
    await world.composition.dispose()
    process.stdout.write(JSON.stringify({ written, grown }))
  })
  assert.ok(result.written < 64 * MIB, 'backpressure holds')
  assert.ok(result.grown < 64 * MIB, JSON.stringify(result))
})

test('control: the same measure sees a harness that keeps its output', { skip: unless('native'), ...LONG }, async () => {
  const result = await report(async (world, lib) => {
    gc()
    const idle = process.memoryUsage.rss()
    const handle = world.spawn(['sh', '-c', 'yes | head -c 201326592'], { stdout: 'pipe' })
    const kept = []
    handle.stdout.on('data', chunk => kept.push(chunk))
    await lib.settled(handle, 'bulk', 100_000)
    process.stdout.write(JSON.stringify({ grown: process.memoryUsage.rss() - idle }))
    await world.composition.dispose()
  })
  assert.ok(result.grown > 96 * MIB, JSON.stringify(result))
})
