import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, World, isAlive, useWorld } from './support.js'

const world = useWorld()
const numbers = text => text.split(/\s+/).map(Number)

test('C30 terminate sends SIGTERM, and after the grace SIGKILL', async () => {
  const polite = world.spawn(['sleep', '60'])
  polite.terminate()
  polite.terminate()
  assert.deepEqual(await within(polite.done, PATIENCE_MS, 'a polite program'), { exitCode: null, signal: 'SIGTERM' })
  const { handle } = await world.announced('trap "" TERM; echo ready; while :; do sleep 0.1; done', { graceMs: 300 })
  const start = performance.now()
  handle.terminate()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'a stubborn program'), { exitCode: null, signal: 'SIGKILL' })
  assert.ok(performance.now() - start >= 290)
  assert.equal(await handle.waitForExit(), true)
})

test('C30 every group of the session is ended, stopped members too', async () => {
  const { handle, text } = await world.announced('set -m; sleep 500 & a=$!; timeout 500 sleep 501 & b=$!; sleep 502 & kill -STOP $!; echo $a $b $!; wait')
  handle.terminate()
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
  assert.deepEqual(numbers(text).filter(isAlive), [])
})

test('C31 the tree outlives its leader, and its end is heard', async () => {
  const { handle, text } = await world.announced('set -m; sleep 500 >/dev/null 2>&1 & echo $!')
  await within(handle.done, PATIENCE_MS, 'the leader')
  assert.equal(await handle.waitForExit(AbortSignal.timeout(100)), false)
  process.kill(Number(text), 'SIGKILL')
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
})

test('C31 a member that leaves the session is not waited for, and C34 survives', async () => {
  const { handle, text } = await world.announced('setsid sleep 500 >/dev/null 2>&1 & echo $!')
  const daemon = Number(text)
  try {
    await within(handle.done, PATIENCE_MS, 'the leader')
    assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
    handle.terminate()
    assert.ok(isAlive(daemon))
  } finally {
    process.kill(daemon, 'SIGKILL')
  }
})

test('C30 descendants that ignore SIGTERM and outlived their leader are killed', async () => {
  const { handle, text } = await world.announced('bash -c \'trap "" TERM; echo $$; sleep 500\' 2>/dev/null & sleep 0.3; set -m; sleep 501 >/dev/null 2>&1 & exit 0', { graceMs: 200 })
  await within(handle.done, PATIENCE_MS, 'the leader')
  assert.ok(isAlive(Number(text)))
  handle.terminate()
  assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
  assert.ok(!isAlive(Number(text)))
})

test('C30 last words of a SIGTERM handler arrive on a raw pipe', async () => {
  const handle = world.spawn(['bash', '-c', 'trap "echo bye; exit 9" TERM; echo ready; while :; do sleep .05; done'], { stdout: 'pipe' })
  let text = ''
  handle.stdout.on('data', chunk => { text += chunk })
  const ended = once(handle.stdout, 'end')
  await until(() => text === 'ready\n', PATIENCE_MS, 'the first words')
  handle.terminate()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: 9, signal: null })
  await within(ended, PATIENCE_MS, 'the end of the output')
  assert.equal(text, 'ready\nbye\n')
})

test('C30 the signal of the spec terminates, and an aborted one refuses', async () => {
  const controller = new AbortController()
  const handle = world.spawn(['sleep', '60'], { signal: controller.signal })
  controller.abort()
  assert.deepEqual(await within(handle.done, PATIENCE_MS, 'the outcome'), { exitCode: null, signal: 'SIGTERM' })
  assert.throws(() => world.spawn(['true'], { signal: AbortSignal.abort('too late') }), /aborted before spawn: too late/)
})

test('C74 disposal ends and joins everything, also what outlived its leader, and refuses new commands', async () => {
  const own = await new World().load()
  const { handle, text } = await own.announced('trap "" TERM; sleep 500 & echo $!; wait; wait', { graceMs: 200 })
  const left = await own.announced('bash -c \'trap "" TERM; sleep 501\' >/dev/null 2>&1 & echo $!', { graceMs: 200 })
  const terminal = await own.terminal(['bash', '-c', 'trap "" TERM HUP; sleep 502; sleep 503'], { graceMs: 200 })
  await within(left.handle.done, PATIENCE_MS, 'a leader')
  const { subprocess } = own
  await own.dispose()
  assert.deepEqual([handle.pid, Number(text), Number(left.text), terminal.pid].filter(isAlive), [])
  assert.deepEqual(await handle.done, { exitCode: null, signal: 'SIGKILL' })
  assert.throws(() => subprocess.spawn({ argv: ['true'], cwd: '/', stdio: {}, graceMs: 1 }), /service is disposing/)
  await assert.rejects(subprocess.spawnTerminal({ argv: ['true'] }), /service is disposing/)
  assert.deepEqual(own.errors, [])
})

test('C30 three hundred at once are ended in little more than the grace', async () => {
  const own = await new World().load()
  const handles = Array.from({ length: 300 }, () => own.spawn(['sh', '-c', 'trap "" TERM; while :; do sleep 1; done'], { graceMs: 500 }))
  await until(() => handles.every(({ pid }) => isAlive(pid)), PATIENCE_MS, 'all of them')
  await own.dispose()
  assert.deepEqual(handles.filter(({ pid }) => isAlive(pid)), [])
})

test('C30 C31 a server that a script left behind in the moment of its end is waited for and ended', { skip: process.platform !== 'linux' && 'reads /proc' }, async () => {
  // Looked for while the script forks and ends: the list of processes was read before the server was there.
  for (let round = 0; round < 60; round += 1) {
    const handle = world.spawn(['bash', '-c', 'sh -c "sleep 500 & exit" >/dev/null 2>&1 & exit 0'], { graceMs: 300 })
    await within(handle.done, PATIENCE_MS, 'the script')
    const gone = await handle.waitForExit(AbortSignal.timeout(60))
    assert.equal(gone && members(handle.pid).length > 0, false, `round ${round}: gone, but somebody of ${handle.pid} runs`)
    handle.terminate()
    assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end'), true)
    assert.deepEqual(members(handle.pid), [])
  }
})

/** Living processes of a session. */
function members(session) {
  const numbers = readdirSync('/proc').filter(name => /^\d+$/.test(name) && isAlive(Number(name)))
  return numbers.filter(number => {
    try {
      const stat = readFileSync(`/proc/${number}/stat`, 'latin1')
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]) === session
    } catch {
      return false
    }
  })
}

const NAMESPACES = process.platform !== 'linux' ? 'unshare(1) is Linux\'' : process.getuid() !== 0 && 'makes namespaces, which only root may'
for (const [what, command] of [
  ['shows another pid namespace', ['unshare', '--pid', '--fork', '--kill-child', 'sh', '-c', '"$@"; exit $?', 'sh']],
  ['is empty', ['unshare', '--mount', 'sh', '-c', 'mount -t tmpfs none /proc; exec "$@"', 'sh']],
]) {
  test(`C31 C33 where /proc ${what}, nobody is taken for gone or signalled by its numbers`, { skip: NAMESPACES }, async () => {
    const fixture = fileURLToPath(new URL('fixtures/unseen.mjs', import.meta.url))
    const { stdout } = await promisify(execFile)(command[0], [...command.slice(1), process.execPath, fixture], { timeout: PATIENCE_MS, killSignal: 'SIGKILL' })
    assert.deepEqual(JSON.parse(stdout), { early: false, late: true })
  })
}

const LIMITED = process.platform !== 'linux' ? 'unshare(1) and prlimit(1) are Linux\'' : process.getuid() !== 0 && 'becomes another user, which only root may'
test('C30 C32 a tree that took the last process that its user may have is ended all the same', { skip: LIMITED }, async () => {
  const limits = ['--reuid=54399', '--regid=54399', '--clear-groups', 'prlimit', '--nproc=60', 'env', 'HOME=/tmp']
  const fixture = fileURLToPath(new URL('fixtures/limited.mjs', import.meta.url))
  // The shell reaps the orphans, which count.
  const shell = ['sh', '-c', '"$@"; exit $?', 'sh', 'setpriv', ...limits, process.execPath, fixture]
  const { stdout } = await promisify(execFile)('unshare', ['--pid', '--fork', '--kill-child', '--mount-proc', ...shell], { timeout: PATIENCE_MS, killSignal: 'SIGKILL' })
  assert.deepEqual(JSON.parse(stdout), { signal: 'SIGKILL', exitCode: 0, tree: true })
})
