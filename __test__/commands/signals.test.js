import assert from 'node:assert/strict'
import { constants } from 'node:os'
import { end, forAll, gone, matrix, says, settled, useWorld, PATIENCE_MS } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()

/** What ends nothing by default: these stop or continue a program, or nobody hears of them. */
const HARMLESS = ['SIGCHLD', 'SIGCONT', 'SIGSTOP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU', 'SIGURG', 'SIGWINCH'].map(name => constants.signals[name])
const DUMPING = ['SIGQUIT', 'SIGILL', 'SIGTRAP', 'SIGABRT', 'SIGBUS', 'SIGFPE', 'SIGSEGV', 'SIGXCPU', 'SIGXFSZ', 'SIGSYS'].map(name => constants.signals[name])
const DEADLY = Array.from({ length: 31 }, (_, at) => at + 1).filter(number => !HARMLESS.includes(number))
const REAL_TIME = Array.from({ length: 33 }, (_, at) => at + 32)

/** Node's own names, of two for one number the one that it gives; it has none for what the C library keeps and what is real-time. */
const NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]))
NAMES.set(6, 'SIGABRT').set(29, 'SIGIO').set(32, 'SIG32').set(33, 'SIG33').set(34, 'SIGRTMIN')
for (let number = 35; number <= 64; number += 1) NAMES.set(number, `SIGRTMIN+${number - 34}`)

/** The outcome of a death by a signal, with the number beside it for a failure's message. */
const death = number => ({ number, exitCode: null, signal: NAMES.get(number) })

/** Kills by itself, without a core file. */
async function diesBy(number) {
  const { exitCode, signal } = await world.sh(`ulimit -c 0; kill -${number} $$`)
  assert.deepEqual({ number, exitCode, signal }, death(number))
}

// https://github.com/earendil-works/pi/issues/8992
matrix('C20 a death by any signal that a program sends itself has the signal and no code (trap C1)', { timeout: 120_000 }, async () => {
  await forAll(DEADLY, diesBy)
})

matrix('C20 a death by any real-time signal that a program sends itself has a name and no code', { timeout: 120_000 }, async () => {
  await forAll(REAL_TIME, diesBy)
})

/** Sends each of the signals to a program of its own, by one sibling of them all. */
async function diesBySibling(numbers) {
  const victims = numbers.map(number => ({ number, handle: world.spawn(['sh', '-c', 'ulimit -c 0; echo $$; exec sleep 300']) }))
  const kills = await Promise.all(victims.map(async ({ number, handle }) => `kill -${number} ${(await says(handle, /^\d+/))[0]}`))
  const { exitCode, stderr } = await world.sh(kills.join('; '))
  assert.equal(exitCode, 0, stderr)
  for (const { number, handle } of victims) assert.deepEqual({ number, ...await settled(handle, `the one of ${number}`) }, death(number))
}

matrix('C20 a death by any signal of a sibling is told like one of its own', { timeout: 120_000 }, () => diesBySibling(DEADLY))

matrix('C20 a death by any real-time signal of a sibling is told like one of its own', { timeout: 120_000 }, () => diesBySibling(REAL_TIME))

matrix('C20 C30 a program that answers the SIGTERM of terminate by any other signal has died by that one', { timeout: 120_000 }, async () => {
  await forAll([...DEADLY, ...REAL_TIME], async number => {
    const script = `ulimit -c 0; trap "trap - ${number}; kill -${number} \\$\\$" TERM; echo up; read go`
    const handle = world.spawn(['sh', '-c', script], { stdin: 'pipe' })
    await says(handle, /up/)
    handle.terminate()
    assert.deepEqual({ number, ...await settled(handle, `the answer ${number}`) }, death(number))
    assert.equal(await gone(handle), true)
  })
})

matrix('C20 a signal that ends nothing by default is no outcome', async () => {
  const handles = HARMLESS.map(() => world.spawn(['sh', '-c', 'echo $$; read go; exit 6'], { stdin: 'pipe' }))
  let early = 0
  for (const handle of handles) handle.done.then(() => { early += 1 })
  const pids = await Promise.all(handles.map(async handle => (await says(handle, /^\d+/))[0]))
  const { exitCode, stderr } = await world.sh(pids.map((pid, at) => `kill -${HARMLESS[at]} ${pid}`).join('; '))
  assert.equal(exitCode, 0, stderr)
  assert.equal(early, 0, 'nothing has ended')
  await world.sh(`kill -CONT ${pids.join(' ')}`)
  for (const [at, handle] of handles.entries()) {
    handle.stdin.end('\n')
    assert.deepEqual({ number: HARMLESS[at], ...await settled(handle) }, { number: HARMLESS[at], exitCode: 6, signal: null })
  }
})

matrix('C20 a core dump is a death by its signal', { timeout: 120_000 }, async () => {
  await world.sh('mkdir -p cores')
  await forAll(DUMPING, async number => {
    const { exitCode, signal } = await world.sh(`ulimit -c unlimited; mkdir -p cores/${number}; cd cores/${number}; kill -${number} $$`)
    assert.deepEqual({ number, exitCode, signal }, death(number))
  })
  const cores = Number((await world.sh('find cores -type f | wc -l')).stdout)
  const [pattern, limit] = (await world.sh('cat /proc/sys/kernel/core_pattern; ulimit -Hc')).stdout.trim().split('\n')
  assert.ok(pattern !== 'core' || limit === '0' || cores === DUMPING.length, `${cores} of ${DUMPING.length} have dumped`)
  await world.sh('rm -rf cores')
})

matrix('C20 a shell that reports its child\'s death exits with a code', async () => {
  const { exitCode, signal } = await world.sh('sh -c "kill -9 \\$\\$"; exit $?')
  assert.deepEqual({ exitCode, signal }, { exitCode: 137, signal: null })
})

/** Waits until a program that says its id is stopped. */
async function isStopped(handle) {
  const [pid] = await says(handle, /^\d+/)
  const state = async () => (await world.sh(`grep State /proc/${pid}/status`)).stdout
  await within((async () => { while (!(await state()).includes('T (stopped)')); })(), PATIENCE_MS, 'the stop')
  return pid
}

matrix('C20 a stop and a continuation are no outcome', async () => {
  const handle = world.spawn(['sh', '-c', 'echo $$; kill -STOP $$; echo awake; kill -STOP $$; exit 6'])
  let early = false
  handle.done.then(() => { early = true })
  for (const said of [/^\d+\n$/, /awake/]) {
    const pid = await isStopped(handle)
    assert.match(handle.collected.stdout.readFrom(0).text, said)
    assert.equal(early, false, 'a stopped command is not over')
    await world.sh(`kill -CONT ${pid}`)
    await says(handle, /awake/)
  }
  assert.deepEqual(await settled(handle), { exitCode: 6, signal: null })
})

matrix('C20 C30 a stopped command that is killed is told as killed', async () => {
  const handle = world.spawn(['sh', '-c', 'echo $$; kill -STOP $$; exit 6'])
  await world.sh(`kill -KILL ${await isStopped(handle)}`)
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGKILL' })
  await end(handle)
})
