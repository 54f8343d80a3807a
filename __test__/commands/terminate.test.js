import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { PATIENCE_MS, SOON_MS, drain, end, gone, mark, matrix, says, settled, text, unless, useWorld } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()
const TERMINATED = { exitCode: null, signal: 'SIGTERM' }
const KILLED = { exitCode: null, signal: 'SIGKILL' }

matrix('C30 terminate ends a program by SIGTERM and is idempotent', async () => {
  const handle = world.spawn(['sh', '-c', 'echo up; exec sleep 300'])
  await says(handle, /up/)
  for (let at = 0; at < 5; at += 1) handle.terminate()
  assert.deepEqual(await settled(handle), TERMINATED)
  assert.equal(await gone(handle), true)
  handle.terminate()
  assert.deepEqual(await settled(handle), TERMINATED)
})

// https://github.com/deepseek-ai/deepseek-harness/commit/e9bef2967d
matrix('C30 a program that ignores SIGTERM is killed after the grace (trap C13)', async () => {
  const graceMs = 500
  const handle = world.spawn(['bash', '-c', 'trap "" TERM; echo up; while :; do sleep 1; done'], { graceMs })
  await says(handle, /up/)
  const before = performance.now()
  handle.terminate()
  assert.deepEqual(await settled(handle), KILLED)
  const took = performance.now() - before
  assert.ok(took >= graceMs - 50 && took < graceMs + SOON_MS, `${took} ms`)
  assert.equal(await gone(handle), true)
})

// https://github.com/deepseek-ai/deepseek-harness/commit/e9bef2967d
matrix('C20 C30 a handler of SIGTERM has its own exit code (trap C13)', async () => {
  const handle = world.spawn(['bash', '-c', 'trap "exit 9" TERM; echo up; while :; do sleep 0.05; done'])
  await says(handle, /up/)
  handle.terminate()
  assert.deepEqual(await settled(handle), { exitCode: 9, signal: null })
})

matrix('C30 a program that exits 143 in its handler has exited', async () => {
  const handle = world.spawn(['bash', '-c', 'trap "exit 143" TERM; echo up; while :; do sleep 0.05; done'])
  await says(handle, /up/)
  handle.terminate()
  assert.deepEqual(await settled(handle), { exitCode: 143, signal: null })
})

// https://github.com/e2b-dev/infra/pull/480
matrix('C30 the last words of a handler arrive on raw and collected pipes (trap C10)', async () => {
  const script = 'trap "echo bye; echo sorry >&2; exit 0" TERM; echo up; while :; do sleep 0.05; done'
  const raw = world.spawn(['bash', '-c', script], { stdout: 'pipe', stderr: 'pipe' })
  const all = [drain(raw.stdout), drain(raw.stderr)]
  await within(once(raw.stdout, 'data'), PATIENCE_MS, 'the start')
  raw.terminate()
  const [out, err] = (await Promise.all(all)).map(String)
  assert.equal(out, 'up\nbye\n')
  // Bash itself may say first that its sleep was terminated.
  assert.match(err, /sorry\n$/)
  assert.deepEqual(await settled(raw), { exitCode: 0, signal: null })
  const collected = world.spawn(['bash', '-c', script])
  await says(collected, /up/)
  collected.terminate()
  await settled(collected)
  assert.equal(text(collected), 'up\nbye\n')
  assert.match(text(collected, 'stderr'), /sorry\n$/)
})

matrix('C30 a stopped program is woken to end', async () => {
  const handle = world.spawn(['bash', '-c', 'trap "echo woken; exit 3" TERM; kill -STOP $$; while :; do sleep 0.05; done'])
  await within((async () => { while (!(await world.sh(`grep State /proc/${handle.pid}/status`)).stdout.includes('stopped')); })(), PATIENCE_MS, 'the stop')
  handle.terminate()
  assert.deepEqual(await settled(handle), { exitCode: 3, signal: null })
  assert.match(text(handle), /woken/)
})

// https://github.com/daytonaio/daytona/issues/2602
matrix('C30 an abort acts at once (trap B5)', async () => {
  const abort = new AbortController()
  const handle = world.spawn(['sh', '-c', 'echo up; sleep 300; echo hello'], { signal: abort.signal })
  await says(handle, /up/)
  const before = performance.now()
  abort.abort(new Error('the limit'))
  assert.deepEqual(await settled(handle), TERMINATED)
  assert.ok(performance.now() - before < SOON_MS)
  assert.equal(await gone(handle), true)
  assert.equal(text(handle), 'up\n')
})

matrix('C30 the listener of a signal goes when the outcome is known', async () => {
  const abort = new AbortController()
  const listeners = { add: 0, remove: 0 }
  const { signal } = abort
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args) => { listeners.add += 1; return add(...args) }
  signal.removeEventListener = (...args) => { listeners.remove += 1; return remove(...args) }
  await settled(world.spawn(['true'], { signal }))
  assert.ok(listeners.add > 0)
  assert.equal(listeners.remove >= listeners.add, true)
  abort.abort()
})

// https://github.com/Marker-Inc-Korea/AutoRAG/issues/1500
matrix('C30 grandchildren behind a pipe end with the shell (trap G2)', async () => {
  for (const mode of ['collect', 'pipe']) {
    const n = mark()
    const abort = new AbortController()
    const handle = world.spawn(['bash', '-c', `echo up; sleep ${n} | cat; true`], {
      signal: abort.signal,
      graceMs: 1000,
      ...(mode === 'pipe' ? { stdout: 'pipe', stderr: 'pipe' } : {}),
    })
    handle.stdout?.resume()
    handle.stderr?.resume()
    await world.untilSleepers(n, 1)
    abort.abort()
    await settled(handle, 'the shell', 8_000)
    assert.equal(await gone(handle), true)
    assert.equal(await world.sleepers(n), 0)
  }
})

// https://github.com/e2b-dev/E2B/issues/1034
matrix('C30 C31 children end too before the tree is said to be gone (trap G1)', async () => {
  const n = mark()
  const handle = world.spawn(['bash', '-c', `sleep ${n} & sleep ${n} & wait`])
  await world.untilSleepers(n, 2)
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(n), 0)
  await settled(handle)
})

// https://github.com/e2b-dev/infra/pull/2639
matrix('C20 C22 the outcome of a killed leader does not wait for a grandchild (trap G8)', async () => {
  const n = mark()
  const handle = world.spawn(['bash', '-c', `sleep ${n} & wait`], { graceMs: 300 })
  await world.untilSleepers(n, 1)
  await world.sh(`kill -KILL ${handle.pid}`)
  assert.deepEqual(await settled(handle, 'the leader', 10_000), KILLED)
  assert.equal(await world.sleepers(n), 1)
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(n), 0)
})

// https://github.com/hackerai-tech/hackerai/pull/374
matrix('C30 terminate in the same breath as spawn ends as terminated and leaves nothing (trap G10)', { timeout: 120_000 }, async () => {
  const n = mark()
  const handles = Array.from({ length: 20 }, () => world.spawn(['sh', '-c', `echo ran >> called-off; exec sleep ${n}`]))
  for (const handle of handles) {
    handle.terminate()
    handle.terminate()
  }
  for (const handle of handles) {
    assert.deepEqual(await settled(handle), TERMINATED)
    assert.equal(await gone(handle), true)
  }
  assert.equal(await world.sleepers(n), 0)
  assert.notEqual((await world.run(['cat', 'called-off'])).exitCode, 0, 'none of them ran')
})

matrix('C30 terminate at any moment of a start leaves nothing running', { timeout: 120_000 }, async () => {
  const n = mark()
  await Promise.all(Array.from({ length: 30 }, async (_, at) => {
    const handle = world.spawn(['sleep', n])
    await new Promise(go => setTimeout(go, at / 4))
    handle.terminate()
    assert.deepEqual(await settled(handle), TERMINATED)
    assert.equal(await gone(handle), true)
  }))
  assert.equal(await world.sleepers(n), 0)
})

matrix('C30 an abort in the same breath as spawn ends as terminated', async () => {
  const abort = new AbortController()
  const handle = world.spawn(['sleep', '300'], { signal: abort.signal })
  abort.abort()
  assert.deepEqual(await settled(handle), TERMINATED)
  assert.equal(await gone(handle), true)
})

// https://github.com/deepseek-ai/deepseek-harness/commit/8067701b92
matrix('C30 nothing is killed late once the tree is gone (trap G5)', async () => {
  const graceMs = 1500
  const handle = world.spawn(['sh', '-c', 'echo up; exec sleep 300'], { graceMs })
  await says(handle, /up/)
  handle.terminate()
  assert.deepEqual(await settled(handle), TERMINATED)
  assert.equal(await gone(handle), true)
  // Whoever would still be killed by number after the grace: a witness in the same place.
  const witness = world.spawn(['sh', '-c', 'sleep 2; echo lived'], { graceMs })
  handle.terminate()
  assert.deepEqual(await settled(witness), { exitCode: 0, signal: null })
  assert.equal(text(witness), 'lived\n')
})

// https://github.com/deepseek-ai/deepseek-harness/commit/8067701b92
matrix('C30 C34 a detached holder of the output keeps nobody from the outcome after terminate (trap G5)', async () => {
  const n = mark()
  const handle = world.spawn(['bash', '-c', `setsid sleep ${n} & echo up; exec sleep 300`], { graceMs: 500 })
  await says(handle, /up/)
  await world.untilSleepers(n, 1)
  const before = performance.now()
  handle.terminate()
  assert.deepEqual(await settled(handle), TERMINATED)
  assert.ok(performance.now() - before < SOON_MS)
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(n), 1, 'it left the session')
  await world.witness(`pkill -f '[s]leep ${n}'`)
})

// https://github.com/llmmanorg/llmman/pull/317
matrix('C33 a termination reaches no process of another command (trap G7)', async () => {
  const n = mark()
  const bystanders = Array.from({ length: 4 }, () => world.spawn(['sleep', n]))
  await world.untilSleepers(n, 4)
  for (const graceMs of [1, 200]) {
    const victim = world.spawn(['bash', '-c', 'trap "" TERM; echo up; while :; do sleep 0.1; done'], { graceMs })
    await says(victim, /up/)
    victim.terminate()
    await gone(victim)
    await settled(victim)
    // Ids that a command could forge in whatever a provider keeps in files.
    const forger = world.spawn(['sh', '-c', 'for f in $(find . /tmp -name "*pid*" -user "$(id -un)" 2>/dev/null); do echo 1 > $f; done; echo done; exec sleep 300'], { graceMs })
    await says(forger, /done/)
    forger.terminate()
    await gone(forger)
    await settled(forger)
  }
  assert.equal(await world.sleepers(n), 4)
  await Promise.all(bystanders.map(end))
})

matrix('C30 raw pipes stay readable to their end after terminate', async () => {
  const handle = world.spawn(['bash', '-c', 'head -c 3000000 /dev/zero; echo up >&2; exec sleep 300'], { stdout: 'pipe', graceMs: 1000 })
  const pending = says(handle, /up/, 'stderr')
  let length = 0
  handle.stdout.on('data', chunk => { length += chunk.length })
  const ended = once(handle.stdout, 'end')
  await pending
  handle.terminate()
  await within(ended, PATIENCE_MS, 'the end of the pipe')
  assert.equal(length, 3_000_000)
  assert.deepEqual(await settled(handle), TERMINATED)
})

matrix('C30 a writer that is blocked on a stalled reader is released by terminate', async () => {
  const handle = world.spawn(['bash', '-c', 'trap "" TERM; yes; sleep 300'], { stdout: 'pipe', graceMs: 500 })
  await within(once(handle.stdout, 'readable'), PATIENCE_MS, 'the first bytes')
  const before = performance.now()
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.ok(performance.now() - before < SOON_MS)
  handle.stdout.resume()
  assert.deepEqual(await settled(handle), KILLED)
})

test('control: a tree that nobody terminates is still there when the same witness looks', async () => {
  const n = mark()
  const handle = world.spawn(['bash', '-c', `sleep ${n} & sleep ${n} & wait`])
  await world.untilSleepers(n, 2)
  await world.sh('sleep 0.3')
  assert.equal(await world.sleepers(n), 2)
  await end(handle)
})

/** Stops all prepared processes, whose ids the next handles have; gives how many there were. */
async function stopPrepared() {
  // Each leads a session of its own below the worker, which leads none.
  const sid = 'ps -o sid= -p'
  const script = `ours=$(pgrep -f 'supervisor.* join'); for p in $ours; do w=$(ps -o ppid= -p $p | tr -d ' '); `
    + `case " "$(echo $ours)" " in *" $w "*) [ $(${sid} $p) = $p ] && [ $(${sid} $w) != $w ] && kill -STOP $p && echo $p;; esac; done; true`
  return (await world.witness(script, { user: 'root' })).trim().split('\n').filter(Boolean).length
}

test('C11 C30 a prepared process that was stopped runs its program, and is ended like any other', { skip: unless('native'), timeout: 2 * PATIENCE_MS }, async () => {
  assert.ok(await stopPrepared() > 0, 'there are prepared processes')
  assert.deepEqual(await settled(world.spawn(['sh', '-c', 'exit 5'])), { exitCode: 5, signal: null })
  await stopPrepared()
  const slept = mark()
  const cancelled = world.spawn(['sleep', slept])
  cancelled.terminate()
  assert.deepEqual(await settled(cancelled), TERMINATED)
  assert.equal(await gone(cancelled), true)
  await stopPrepared()
  const terminal = await within(world.subprocess.spawnTerminal({ argv: ['true'], cwd: world.cwd, rows: 24, cols: 80, graceMs: 200 }), PATIENCE_MS, 'a terminal')
  assert.equal((await within(terminal.done, PATIENCE_MS, 'its outcome')).exitCode, 0)
  assert.equal(await world.sleepers(slept), 0)
})
