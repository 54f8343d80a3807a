import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { runHarness, startHarness } from './harness.js'
import { EXTENDED, PATIENCE_MS, PROVIDER, SOON_MS, end, gone, matrix, settled, unless, useWorld } from './world.js'
import { until } from '../support/deadline.js'

const world = useWorld()
const LONG = { timeout: 120_000 }

/** Timers, sockets and the like that Node knows of. */
function activeResources() {
  return process.getActiveResourcesInfo().filter(name => name !== 'Immediate').length
}

/** What this process and the sandbox hold, for comparison. */
async function holdings() {
  const script = `echo $(find ${world.cwd}/.dsh-e2b -mindepth 1 2>/dev/null | sort); ps -e -o comm= | wc -l; ls -d /proc/[0-9]*/fd/* 2>/dev/null | wc -l`
  const [files, processes, descriptors] = (await world.witness(script, { user: 'root' })).trim().split('\n')
  return {
    host: {
      descriptors: readdirSync('/proc/self/fd').length,
      threads: readdirSync('/proc/self/task').length,
      resources: activeResources(),
    },
    sandbox: { files, processes: Number(processes), descriptors: Number(descriptors) },
  }
}

/**
 * The same once the sandbox is quiet, after a burst of commands: as many processes are being prepared for the next ones then as ever are,
 * and what that takes is the same each time.
 */
async function quietHoldings() {
  await Promise.all(Array.from({ length: 60 }, () => world.run(['true'])))
  const seen = []
  await until(async () => {
    seen.push(await holdings())
    const [first, ...rest] = seen.slice(-4)
    return rest.length === 3 && rest.every(({ sandbox }) => isDeepStrictEqual(sandbox, first.sandbox))
  }, PATIENCE_MS, 'a quiet sandbox', 50)
  return seen.at(-1)
}

/** Nothing has grown beyond the little that a pool and a keep-alive explain. */
function assertNoGrowth(before, after) {
  assert.equal(after.sandbox.files, before.sandbox.files)
  assert.ok(after.sandbox.processes <= before.sandbox.processes + 40, JSON.stringify({ before, after }))
  assert.ok(after.sandbox.descriptors <= before.sandbox.descriptors + 40, JSON.stringify({ before, after }))
  assert.ok(after.host.descriptors <= before.host.descriptors + 8, JSON.stringify({ before, after }))
  assert.ok(after.host.resources <= before.host.resources + 8, JSON.stringify({ before, after }))
  assert.ok(after.host.threads <= before.host.threads + 4, JSON.stringify({ before, after }))
}

const COMMANDS = EXTENDED ? 10_000 : 300

// https://github.com/e2b-dev/desktop/pull/211
matrix(`C64 ${COMMANDS} commands of every kind leave no descriptor, thread, file or process behind (trap H12)`, { timeout: EXTENDED ? 900_000 : 120_000 }, async t => {
  const kinds = [
    () => settled(world.spawn(['true'])),
    () => settled(world.spawn(['sh', '-c', 'exit 3'], { stdout: { maxBytes: 10, spill: { maxBytes: 1000 } } })),
    () => settled(world.spawn(['cat'], { stdin: { data: 'x' } })),
    async () => {
      const handle = world.spawn(['sh', '-c', 'yes | head -c 3000'], { stdout: 'pipe', stderr: 'pipe' })
      handle.stdout.resume()
      handle.stderr.resume()
      await settled(handle)
    },
    () => assert.rejects(world.spawn(['no-such-program-anywhere']).done),
    () => end(world.spawn(['sleep', '300'])),
    async () => {
      // Its output is never read.
      const handle = world.spawn(['echo', 'unread'], { stdout: 'pipe', graceMs: 100 })
      assert.equal(await gone(handle), true)
      handle.stdout.destroy()
      await settled(handle)
    },
    () => end(world.spawn(['bash', '-c', 'sleep 300 & exit 0'], { graceMs: 50 })),
  ]
  const round = async count => {
    for (let at = 0; at < count; at += 20) await Promise.all(Array.from({ length: 20 }, (_, n) => kinds[(at + n) % kinds.length]()))
  }
  await round(60)
  const before = await quietHoldings()
  await round(COMMANDS)
  await until(async () => Number(await world.witness('grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l')) === 0, PATIENCE_MS, 'no zombie')
  const after = await quietHoldings()
  t.diagnostic(JSON.stringify({ before, after }))
  assertNoGrowth(before, after)
})

// https://github.com/e2b-dev/E2B/pull/1328
matrix('C30 starts that were called off leave no timer, listener or handle (trap I7)', { timeout: 120_000 }, async () => {
  const warnings = []
  const note = warning => warnings.push(warning.name)
  process.on('warning', note)
  const { signal } = new AbortController()
  const before = activeResources()
  const count = EXTENDED ? 10_000 : 500
  for (let at = 0; at < count; at += 50) {
    const handles = Array.from({ length: 50 }, () => world.spawn(['sleep', '300'], { signal }))
    for (const handle of handles) handle.terminate()
    for (const handle of handles) {
      assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGTERM' })
      assert.equal(await gone(handle), true)
    }
  }
  const next = world.spawn(['true'])
  if (PROVIDER === 'native') assert.ok(next.pid > 1, 'the process ids are given back')
  await settled(next)
  await until(() => activeResources() <= before + 3, PATIENCE_MS, 'active resources as before')
  process.off('warning', note)
  assert.deepEqual(warnings, [])
})

// https://github.com/napi-rs/napi-rs/issues/1732
matrix('C64 a harness that has nothing left to do exits by itself (trap J1)', LONG, async () => {
  const harness = startHarness(world, async (world, lib) => {
    const { exitCode } = await lib.settled(world.spawn(['true']))
    await world.composition.dispose()
    process.stdout.write(`done ${exitCode}\n`)
  })
  await until(() => harness.text.stdout.includes('done'), 2 * PATIENCE_MS, 'the work')
  const before = performance.now()
  const { code, stdout, stderr } = await harness.ended()
  assert.deepEqual({ code, stdout }, { code: 0, stdout: 'done 0\n' }, stderr)
  assert.ok(performance.now() - before < SOON_MS)
})

// https://github.com/napi-rs/napi-rs/issues/1732
test('C64 a harness that never disposes exits by itself, and its sandbox stays (trap J1)', { skip: unless('native'), ...LONG }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const { exitCode } = await lib.settled(world.spawn(['true']))
    process.stdout.write(`done ${exitCode}\n`)
  })
  assert.deepEqual({ code, stdout }, { code: 0, stdout: 'done 0\n' }, stderr)
})

matrix('C20 a harness that awaits an outcome does not exit before it', LONG, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const handle = world.spawn(['sh', '-c', 'sleep 0.7; exit 4'])
    const { exitCode } = await handle.done
    process.stdout.write(`done ${exitCode}\n`)
    await handle.waitForExit()
    await world.composition.dispose()
  })
  assert.deepEqual({ code, stdout }, { code: 0, stdout: 'done 4\n' }, stderr)
})

// https://github.com/napi-rs/napi-rs/issues/2884
matrix('C64 process.exit in the middle of everything exits at once with its own code (trap J7)', LONG, async () => {
  const harness = startHarness(world, async world => {
    const handles = [
      world.spawn(['sleep', '300']),
      world.spawn(['sh', '-c', 'yes'], { stdout: 'pipe' }),
      world.spawn(['cat'], { stdin: 'pipe' }),
      world.spawn(['sh', '-c', 'yes | head -c 100000000']),
    ]
    handles[1].stdout.on('data', () => {})
    handles[2].stdin.write(Buffer.alloc(1_000_000))
    world.subprocess.resolveExecutable('sh').catch(() => {})
    process.stdout.write('exiting\n', () => process.exit(17))
  })
  await until(() => harness.text.stdout.includes('exiting'), 2 * PATIENCE_MS, 'the work')
  const before = performance.now()
  const { code, signal, stderr } = await harness.ended()
  assert.deepEqual({ code, signal, stderr }, { code: 17, signal: null, stderr: '' })
  assert.ok(performance.now() - before < SOON_MS)
})

matrix('C23 an unhandled rejection elsewhere ends the harness as it always does, and by nothing of ours', LONG, async () => {
  const { code, signal, stderr } = await runHarness(world, async world => {
    world.spawn(['sleep', '300'])
    world.spawn(['sh', '-c', 'yes'], { stdout: 'pipe' }).stdout.resume()
    Promise.reject(new Error('elsewhere'))
    await new Promise(() => {})
  })
  assert.deepEqual({ code, signal }, { code: 1, signal: null })
  assert.match(stderr, /elsewhere/)
})

matrix('C23 rejections of done that nobody takes end no harness', LONG, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const handles = Array.from({ length: 5 }, () => world.spawn(['no-such-program-anywhere']))
    await Promise.all(handles.map(handle => handle.waitForExit()))
    await world.composition.dispose()
    process.stdout.write('lived\n')
  })
  assert.deepEqual({ code, stdout }, { code: 0, stdout: 'lived\n' }, stderr)
})

// https://github.com/napi-rs/napi-rs/issues/2884
matrix('C64 an open standard input of the harness holds nothing up (trap J7)', LONG, async () => {
  const harness = startHarness(world, async (world, lib) => {
    await lib.settled(world.spawn(['cat']))
    await world.composition.dispose()
  })
  // The pipe to its standard input stays open all the time: it has no writer's end to wait for.
  const { code, stderr } = await harness.ended()
  assert.equal(code, 0, stderr)
})

// https://github.com/e2b-dev/desktop/pull/211
matrix('C64 streams that are destroyed or never read are given back (trap H12)', { timeout: EXTENDED ? 300_000 : 120_000 }, async t => {
  let spawned = 0
  const round = async count => {
    spawned += count
    const handles = Array.from({ length: count }, () => world.spawn(['sh', '-c', 'echo x >> flooding; yes | head -c 3000000'], { stdout: 'pipe', stderr: 'pipe', graceMs: 200 }))
    await until(async () => Number((await world.sh('wc -l < flooding')).stdout) === spawned, PATIENCE_MS, 'all of them')
    for (const [at, handle] of handles.entries()) {
      if (at % 2) handle.stdout.destroy()
      handle.terminate()
    }
    await Promise.all(handles.map(async handle => {
      assert.equal(await gone(handle), true)
      handle.stdout.destroy()
      handle.stderr.destroy()
      await settled(handle)
    }))
  }
  await round(20)
  const before = await quietHoldings()
  for (let at = 0; at < 5; at += 1) await round(EXTENDED ? 100 : 20)
  const after = await quietHoldings()
  t.diagnostic(JSON.stringify({ before, after }))
  assertNoGrowth(before, after)
})
