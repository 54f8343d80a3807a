import assert from 'node:assert/strict'
import { mark, gone, matrix, says, settled, unless, useWorld, PATIENCE_MS } from './world.js'
import { until } from '../support/deadline.js'

const world = useWorld()
const KILLED = { exitCode: null, signal: 'SIGKILL' }
/** In a box with one account this would kill the sandbox' daemon as well, and with it the sandbox. */
const oneAccount = async () => (await world.witness('sudo -n id -u')).trim() !== '0'

/** A few commands with children, each with its mark. */
async function busy() {
  const n = mark()
  const handles = [
    world.spawn(['sleep', n]),
    world.spawn(['bash', '-c', `trap "" TERM; sleep ${n} & sleep ${n}; sleep ${n}`]),
    world.spawn(['bash', '-c', `setsid sleep ${n} & sleep ${n}`]),
  ]
  await world.untilSleepers(n, 5)
  return { n, handles }
}

/** After a kill: all of it has ended, and the next command works. */
async function allEnded({ n, handles }) {
  for (const handle of handles) {
    const outcome = await settled(handle)
    assert.equal(outcome.exitCode, null)
    assert.equal(await gone(handle), true)
    handle.terminate()
  }
  await world.untilSleepers(n, 0)
  const next = await world.run(['sh', '-c', 'echo again; exit 5'])
  assert.deepEqual([next.exitCode, next.stdout], [5, 'again\n'])
  await until(() => {
    const handle = world.spawn(['true'])
    return handle.pid > 0 && handle
  }, PATIENCE_MS, 'process ids ahead again')
}

matrix('C35 a command that kills everything of its user ends the others as killed, and the next command works', { skip: unless('native'), timeout: 120_000 }, async () => {
  if (await oneAccount()) return
  for (let round = 0; round < 2; round += 1) {
    const running = await busy()
    const killer = world.spawn(['sh', '-c', 'kill -9 -1; echo survived; exit 0'])
    const outcome = await settled(killer)
    assert.ok(outcome.exitCode === 0 || outcome.signal === 'SIGKILL', JSON.stringify(outcome))
    await allEnded(running)
  }
})

matrix('C35 a worker that is killed alone takes all commands with it', { skip: unless('native'), timeout: 120_000 }, async () => {
  const running = await busy()
  // The parent of a command is the worker.
  await world.witness(`kill -KILL $(ps -o ppid= -p ${running.handles[0].pid})`)
  await allEnded(running)
  for (const handle of running.handles) assert.deepEqual(await handle.done, KILLED)
})

matrix('C35 a guardian that is killed alone takes all commands with it', { skip: unless('native'), timeout: 120_000 }, async () => {
  const running = await busy()
  await world.witness(`kill -KILL $(ps -o ppid= -p $(ps -o ppid= -p ${running.handles[0].pid}))`)
  await allEnded(running)
})

matrix('C35 a supervisor that is killed by its name ends everything, and bursts work afterwards', { skip: unless('native'), timeout: 120_000 }, async () => {
  const running = await busy()
  await world.witness('pkill -KILL -f "[s]upervisor"')
  await allEnded(running)
  const outcomes = await Promise.all(Array.from({ length: 30 }, (_, at) => world.sh(`exit ${at}`)))
  assert.deepEqual(outcomes.map(({ exitCode }) => exitCode), Array.from({ length: 30 }, (_, at) => at))
})

// https://github.com/e2b-dev/E2B/issues/1031
matrix('C35 C31 only the joiner is killed, so the daemon lists nothing of ours: nothing ends and nothing is lost (trap K2)', { skip: unless('native'), timeout: 120_000 }, async () => {
  const handle = world.spawn(['sh', '-c', 'for i in $(seq 1 100); do echo $i; sleep 0.01; done; exit 9'])
  await says(handle, /^10$/m)
  // Children of the daemon that are called so are joiners; the resident ones have left.
  const killed = await world.witness('for p in $(pgrep -f "[s]upervisor"); do w=$(ps -o ppid= -p $p); c=$(ps -o args= -p $w); case "$c" in *[s]upervisor*) ;; *) [ "$(ps -o sid= -p $p | tr -d " ")" = "$p" ] || { kill -KILL $p && echo $p; } ;; esac; done', { user: 'root' })
  assert.deepEqual(await settled(handle), { exitCode: 9, signal: null }, `killed ${killed}`)
  assert.equal(handle.collected.stdout.readFrom(0).text, Array.from({ length: 100 }, (_, at) => `${at + 1}\n`).join(''))
})

matrix('C35 a spawn in the breath of the kill ends as killed or runs, never neither', { skip: unless('native'), timeout: 120_000 }, async () => {
  if (await oneAccount()) return
  for (let round = 0; round < 3; round += 1) {
    const killer = world.spawn(['sh', '-c', 'kill -9 -1'])
    const handles = []
    for (let at = 0; at < 20; at += 1) {
      handles.push(world.spawn(['sh', '-c', `exit ${at}`]))
      await new Promise(go => setTimeout(go, at / 4))
    }
    await settled(killer)
    for (const [at, handle] of handles.entries()) {
      const outcome = await settled(handle)
      assert.ok(outcome.exitCode === at || outcome.signal === 'SIGKILL', `${at}: ${JSON.stringify(outcome)}`)
      assert.equal(await gone(handle), true)
    }
  }
})
