import assert from 'node:assert/strict'
import { end, gone, mark, matrix, says, settled, text, unless, useWorld } from './world.js'

const world = useWorld()

/** Starts a line of `bash` that leaves `count` sleepers, and waits for them. */
async function tree(script, count, options) {
  const n = mark()
  const handle = world.spawn(['bash', '-c', script.replaceAll('SLEEP', `sleep ${n}`)], { graceMs: 500, ...options })
  await world.untilSleepers(n, count)
  return { handle, n }
}

/** Terminates a tree and proves that none of its sleepers is left. */
async function ends({ handle, n }) {
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(n), 0)
  await settled(handle)
}

for (const [what, script, count] of [
  ['background jobs', 'SLEEP & SLEEP & SLEEP', 3],
  ['a double fork', '(SLEEP &) ; SLEEP', 2],
  ['an orphan whose parents have all exited', '( (SLEEP &) & ) ; exit 0', 1],
  ['groups of their own by set -m', 'set -m; SLEEP & SLEEP & wait', 2],
  ['a group of its own by timeout', 'timeout 500 SLEEP', 1],
  ['a timeout in the background of a dead shell', 'timeout 500 SLEEP & exit 0', 1],
  ['an interactive bash', 'bash --norc -i -c "SLEEP & SLEEP"', 2],
  ['a nohup that ignores SIGHUP', 'nohup SLEEP >/dev/null 2>&1 & SLEEP', 2],
  ['members that ignore SIGTERM', '(trap "" TERM; SLEEP & SLEEP) & wait', 2],
  ['a stopped member', '(kill -STOP $BASHPID) & SLEEP', 1],
  ['a dead leader with a living group', 'SLEEP & disown; exit 7', 1],
  ['a pipeline', 'SLEEP | SLEEP | SLEEP', 3],
  ['a coprocess', 'coproc SLEEP; SLEEP', 2],
]) {
  matrix(`C30 C31 terminate ends ${what}`, async () => ends(await tree(script, count)))
}

matrix('C30 a fork storm is ended', { timeout: 60_000 }, async () => {
  const n = mark()
  const handle = world.spawn(['bash', '-c', `trap "" TERM; echo up; while :; do (sleep ${n} & sleep 0.01) & sleep 0.01; done`], { graceMs: 200 })
  await says(handle, /up/)
  await world.untilSleepersAtLeast(n, 10)
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(n), 0)
  await settled(handle)
})

matrix('C30 a tree that is stopped as a whole is ended', async () => {
  const { handle, n } = await tree('SLEEP & SLEEP & wait', 2)
  await world.sh(`kill -STOP -- -${handle.pid}`)
  await ends({ handle, n })
})

// https://github.com/deepseek-ai/deepseek-harness/commit/d29c73ddd6
matrix('C31 a group of zombies only is gone (trap G4)', async () => {
  const graceMs = 300
  // The leader ends its child and never waits: a zombie keeps the group until its parent goes.
  const script = 'import os,sys,time,signal\np=os.fork()\nif p==0: os._exit(0)\ntime.sleep(.2)\nos.kill(os.getpid(),signal.SIGKILL)'
  const handle = world.spawn(['python3', '-c', script], { graceMs })
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGKILL' })
  assert.equal(await gone(handle), true)
  // A member that has left the session holds a zombie of the group: no process of the tree is alive.
  const keeper = 'import os,time\nif os.fork(): os._exit(0)\np=os.fork()\nif p==0: os._exit(0)\nos.setsid()\nprint("zombie",p,os.getpid(),flush=True)\nos.close(1); os.close(2)\ntime.sleep(300)'
  const holder = world.spawn(['python3', '-c', keeper], { graceMs })
  const [, zombie, parent] = await says(holder, /zombie (\d+) (\d+)/)
  await world.untilWitness(`grep -o "Z (zombie)" /proc/${zombie}/status`, 'Z (zombie)')
  await settled(holder)
  assert.equal(await gone(holder), true)
  assert.match(await world.witness(`grep State /proc/${zombie}/status`), /Z/)
  await world.witness(`kill -KILL ${parent}`)
})

// https://github.com/deepseek-ai/deepseek-harness/commit/d29c73ddd6
matrix('C64 orphans do not pile up as zombies (trap G4)', { timeout: 60_000 }, async () => {
  await Promise.all(Array.from({ length: 100 }, () => world.sh('sleep 0.1 & exit 0', { stdout: { maxBytes: 10 } })))
  await world.untilWitness('grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l', '0')
})

matrix('C31 a leader whose main thread has left is alive until its last thread ends', async () => {
  const script = [
    'import ctypes,threading,time,os,sys',
    'def last():',
    '  sys.stdin.read()',
    '  os._exit(5)',
    'print("up",flush=True)',
    'threading.Thread(target=last).start()',
    'ctypes.CDLL(None).pthread_exit(None)',
  ].join('\n')
  const handle = world.spawn(['python3', '-c', script], { stdin: 'pipe' })
  await says(handle, /up/)
  await world.untilWitness(`grep -o "Z (zombie)" /proc/${handle.pid}/status`, 'Z (zombie)')
  let over = false
  const waiting = handle.waitForExit().then(() => { over = true })
  assert.equal((await world.sh('true')).exitCode, 0)
  assert.equal(over, false, 'the state letter lies')
  handle.stdin.end()
  assert.deepEqual(await settled(handle), { exitCode: 5, signal: null })
  await waiting
})

matrix('C30 a program whose main thread has left is ended', async () => {
  const script = 'import ctypes,threading,time\nthreading.Thread(target=lambda: time.sleep(300)).start()\nprint("up",flush=True)\nctypes.CDLL(None).pthread_exit(None)'
  const handle = world.spawn(['python3', '-c', script], { graceMs: 500 })
  await says(handle, /up/)
  handle.terminate()
  const { exitCode, signal } = await settled(handle)
  assert.ok(exitCode === null && (signal === 'SIGTERM' || signal === 'SIGKILL'), `${exitCode} ${signal}`)
  assert.equal(await gone(handle), true)
})

matrix('C34 a process that leaves the session is not of the tree and not claimed to be', async () => {
  const { handle, n } = await tree('setsid SLEEP >/dev/null 2>&1 & wait $!; SLEEP', 1)
  handle.terminate()
  assert.equal(await gone(handle), true)
  await settled(handle)
  assert.equal(await world.sleepers(n), 1)
  await world.witness(`pkill -f '^sleep ${n}'`)
})

matrix('C30 a member of another user is ended too', { skip: unless('sandboxd'), timeout: 60_000 }, async () => {
  const two = (await world.witness('sudo -n id -u')).trim() === '0'
  if (!two) return
  const { handle, n } = await tree('sudo SLEEP & sudo SLEEP & wait', 2)
  assert.equal((await world.witness(`ps -o user= -p $(pgrep -f '^sleep ${n}' | head -1)`)).trim(), 'root')
  await ends({ handle, n })
})

matrix('C30 a program that is root itself is ended', { skip: unless('sandboxd'), timeout: 60_000 }, async () => {
  if ((await world.witness('sudo -n id -u')).trim() !== '0') return
  const n = mark()
  const handle = world.spawn(['sudo', 'sleep', n], { graceMs: 500 })
  await world.untilSleepers(n, 1)
  await ends({ handle, n })
})

matrix('C31 the tree is over when the last descendant ends by itself, not when the leader does', async () => {
  const handle = world.spawn(['bash', '-c', '(sleep 0.5; echo last > last.txt) >/dev/null 2>&1 & exit 3'])
  assert.deepEqual(await settled(handle), { exitCode: 3, signal: null })
  assert.equal((await world.sh('cat last.txt 2>/dev/null | wc -c')).stdout.trim(), '0')
  assert.equal(await gone(handle), true)
  assert.equal((await world.sh('cat last.txt')).stdout, 'last\n')
})

matrix('C30 a descendant that becomes a member late is ended as well', async () => {
  const n = mark()
  const handle = world.spawn(['bash', '-c', `trap 'for i in 1 2 3; do sleep ${n} & done' TERM; echo up; while :; do sleep 0.05; done`], { graceMs: 500 })
  await says(handle, /up/)
  handle.terminate()
  assert.equal(await gone(handle), true)
  assert.equal(await world.sleepers(n), 0)
  assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGKILL' })
})

matrix('C22 C31 holders of one stream each are ended by terminate after the outcome', async () => {
  for (const script of ['SLEEP 2>/dev/null & echo out', 'SLEEP >/dev/null & echo out']) {
    const { handle, n } = await tree(script, 1, { graceMs: 300 })
    assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
    assert.equal(text(handle), 'out\n')
    await end(handle)
    assert.equal(await world.sleepers(n), 0)
  }
})
