import assert from 'node:assert/strict'
import { end, gone, mark, matrix, says, settled, useWorld, PATIENCE_MS } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()

matrix('C31 waitForExit is true for every waiter, before and after the end', async () => {
  const handle = world.spawn(['sh', '-c', 'read go; exit 2'], { stdin: 'pipe' })
  const waiters = Array.from({ length: 20 }, () => handle.waitForExit())
  handle.stdin.end('\n')
  assert.deepEqual(await within(Promise.all(waiters), PATIENCE_MS, 'all waiters'), waiters.map(() => true))
  assert.equal(await gone(handle), true)
  assert.deepEqual(await settled(handle), { exitCode: 2, signal: null })
})

matrix('C31 waitForExit is false when its signal fires first, and only for that waiter', async () => {
  const handle = world.spawn(['sleep', '300'])
  const abort = new AbortController()
  const patient = handle.waitForExit()
  const hasty = handle.waitForExit(abort.signal)
  abort.abort()
  assert.equal(await within(hasty, PATIENCE_MS, 'the hasty waiter'), false)
  assert.equal(await handle.waitForExit(AbortSignal.abort()), false)
  handle.terminate()
  assert.equal(await within(patient, PATIENCE_MS, 'the patient waiter'), true)
  assert.equal(await handle.waitForExit(AbortSignal.abort()), true, 'an end that is known is told')
  await settled(handle)
})

matrix('C31 waitForExit before the start is published waits for its end', async () => {
  const handles = Array.from({ length: 10 }, (_, at) => world.spawn(['sh', '-c', `sleep 0.1; exit ${at}`]))
  const answers = await within(Promise.all(handles.map(handle => handle.waitForExit())), PATIENCE_MS, 'all trees')
  assert.deepEqual(answers, handles.map(() => true))
  for (const [at, handle] of handles.entries()) assert.equal((await settled(handle)).exitCode, at)
})

matrix('C31 waitForExit that is called off before the start is published is false', async () => {
  const handle = world.spawn(['sleep', '300'])
  const abort = new AbortController()
  const waiting = handle.waitForExit(abort.signal)
  abort.abort()
  assert.equal(await within(waiting, PATIENCE_MS, 'the waiter'), false)
  await end(handle)
})

matrix('C30 C31 waiting and terminating in every order end the same', { timeout: 120_000 }, async () => {
  const orders = {
    'wait, terminate': handle => { const waiting = handle.waitForExit(); handle.terminate(); return waiting },
    'terminate, wait': handle => { handle.terminate(); return handle.waitForExit() },
    'terminate, wait, terminate': handle => { handle.terminate(); const waiting = handle.waitForExit(); handle.terminate(); return waiting },
    'wait twice around terminate': async handle => {
      const first = handle.waitForExit()
      handle.terminate()
      const second = handle.waitForExit()
      return (await first) && second
    },
    'done, then wait': async handle => { handle.terminate(); await settled(handle); return handle.waitForExit() },
    'wait, then done': async handle => { handle.terminate(); const answer = await handle.waitForExit(); await settled(handle); return answer },
  }
  for (const published of [false, true]) {
    await Promise.all(Object.entries(orders).map(async ([what, act]) => {
      const n = mark()
      const handle = world.spawn(['bash', '-c', `sleep ${n} & echo up; sleep ${n}`])
      if (published) await says(handle, /up/)
      assert.equal(await within(act(handle), PATIENCE_MS, what), true, what)
      assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGTERM' }, what)
      assert.equal(await world.sleepers(n), 0, what)
    }))
  }
})

matrix('C31 a waiter leaves no listener on its signal', async () => {
  const warnings = []
  const note = warning => warnings.push(warning.name)
  process.on('warning', note)
  const { signal } = new AbortController()
  const handle = world.spawn(['sleep', '300'])
  const waiters = Array.from({ length: 40 }, () => handle.waitForExit())
  for (let at = 0; at < 40; at += 1) {
    const other = world.spawn(['true'], { signal })
    assert.equal(await within(other.waitForExit(signal), PATIENCE_MS, 'a short one'), true)
    await settled(other)
  }
  await end(handle)
  await Promise.all(waiters)
  await new Promise(setImmediate)
  process.off('warning', note)
  assert.deepEqual(warnings.filter(name => name === 'MaxListenersExceededWarning'), [])
})

matrix('C11 pid is the process, its session and its group', async () => {
  const handle = world.spawn(['sh', '-c', 'echo $$; read go'], { stdin: 'pipe' })
  const [pid] = await says(handle, /\d+/)
  assert.equal(handle.pid, Number(pid))
  assert.equal((await world.witness(`ps -o pid=,sid=,pgid= -p ${pid}`)).trim().split(/\s+/).join(), [pid, pid, pid].join())
  handle.stdin.end('\n')
  await settled(handle)
})

matrix('C11 D22 pid is positive when spawn returns', async () => {
  // One after the other: a burst may use the pool up.
  for (let at = 0; at < 30; at += 1) {
    const handle = world.spawn(['sh', '-c', 'echo $$'])
    const { pid } = handle
    assert.ok(pid > 0, `pid ${pid} at once, round ${at}`)
    await settled(handle)
    assert.equal(handle.collected.stdout.readFrom(0).text.trim(), String(pid))
    assert.equal(handle.pid, pid)
  }
})

matrix('C11 no id is given out twice in a burst, and every id becomes the program\'s', async () => {
  const handles = Array.from({ length: 60 }, () => world.spawn(['sh', '-c', 'echo $$; read go'], { stdin: 'pipe' }))
  const early = handles.map(({ pid }) => pid).filter(pid => pid > 0)
  assert.equal(new Set(early).size, early.length)
  const pids = []
  for (const handle of handles) {
    const [pid] = await says(handle, /\d+/)
    assert.equal(handle.pid, Number(pid))
    pids.push(pid)
    handle.stdin.end('\n')
  }
  assert.equal(new Set(pids).size, pids.length)
  await Promise.all(handles.map(handle => settled(handle)))
})

matrix('C11 a prepared process that was killed before its use is replaced by another', { timeout: 90_000 }, async () => {
  // Whoever waits for a command is a child of the supervisor and leads a session, which the supervisor's worker does not.
  const kill = 'for s in $(pgrep -f "[.]supervisor-"); do for p in $(pgrep -P $s); do grep -q supervisor- /proc/$p/cmdline && [ $(ps -o sid= -p $p) = $p ] && [ -z "$(pgrep -P $p)" ] && kill -KILL $p; done; done'
  for (let round = 0; round < 3; round += 1) {
    await world.witness(kill)
    const handles = Array.from({ length: 8 }, (_, at) => world.spawn(['sh', '-c', `echo $$; exit ${at}`]))
    for (const [at, handle] of handles.entries()) {
      assert.deepEqual(await settled(handle), { exitCode: at, signal: null })
      assert.equal(handle.collected.stdout.readFrom(0).text.trim(), String(handle.pid))
    }
  }
})
