// The same checks as elsewhere, where they must fail: against the original provider on the same server.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { PATIENCE_MS, World, gone, mark, settled, unless } from './world.js'
import { hook } from './hook.js'
import { compose } from '../support/composition.js'
import { until } from '../support/deadline.js'
import { startServer } from '../support/server.js'

const world = new World()
const options = { skip: unless('native'), timeout: 90_000 }

before(async () => {
  if (options.skip) return
  world.server = await startServer()
  world.composition = await compose(world.server, { provider: 'ts' })
  world.subprocess = world.composition.subprocess
  await world.composition.sandbox()
})
after(async () => {
  await world.composition?.dispose().catch(() => {})
  await world.server?.stop()
})

/** A check of these tests that must not hold here. */
async function fails(check) {
  await assert.rejects(check, error => error.code === 'ERR_ASSERTION')
}

test('control: the check of C11 fails where no process is prepared', options, async () => {
  const handle = world.spawn(['true'])
  await fails(async () => assert.ok(handle.pid > 0))
  await settled(handle).catch(() => {})
})

test('control: the check of C20 fails where the shell tells of a death by signal', options, async () => {
  const outcome = await settled(world.spawn(['sh', '-c', 'ulimit -c 0; kill -SEGV $$'])).catch(error => ({ error }))
  await fails(async () => assert.deepEqual(outcome, { exitCode: null, signal: 'SIGSEGV' }))
})

test('control: the check of C21 fails where a missing program is an exit', options, async () => {
  const outcome = await settled(world.spawn(['no-such-program-anywhere'])).then(value => ({ value }), error => ({ error }))
  await fails(async () => assert.equal(outcome.error?.code, 'ENOENT'))
})

test('control: the check of C31 fails where the end is polled for', { ...options, skip: options.skip || unless('sandboxd') }, async () => {
  const { sandboxId } = await world.composition.sandbox()
  const total = async () => Object.values(await hook(world.server).requests(sandboxId)).reduce((sum, n) => sum + n, 0)
  const handle = world.spawn(['sh', '-c', 'echo up; exec sleep 300'])
  await world.untilWitness('pgrep -fc "^sleep 300"', '1')
  const first = await total()
  await new Promise(go => setTimeout(go, 1_000))
  const last = await total()
  await fails(async () => assert.equal(last, first))
  handle.terminate()
  await settled(handle).catch(() => {})
})

test('control: the check of C30 fails where only one group is known', options, async () => {
  const n = mark()
  const handle = world.spawn(['bash', '-c', `set -m; sleep ${n} & sleep ${n} & wait`], { graceMs: 500 })
  await world.untilSleepers(n, 2)
  handle.terminate()
  await gone(handle).catch(() => {})
  const left = await world.sleepers(n)
  await fails(async () => assert.equal(left, 0))
  await world.witness(`pkill -KILL -f '^sleep ${n}'`)
  await settled(handle).catch(() => {})
})

test('control: the check of trap C13 fails where a wrapper dies of the same signal', options, async () => {
  const handle = world.spawn(['bash', '-c', 'trap "exit 9" TERM; echo up > up.txt; while :; do sleep 0.05; done'])
  await world.untilWitness(`cat ${world.cwd}/up.txt 2>/dev/null`, 'up')
  handle.terminate()
  const outcome = await settled(handle).catch(error => ({ error }))
  await fails(async () => assert.deepEqual(outcome, { exitCode: 9, signal: null }))
})

test('control: the check of C19 fails where a command inherits its starter\'s descriptors or shells', options, async () => {
  // On a busy machine some of its commands fail for other reasons.
  const { stdout } = await until(() => world.sh('ps -o sid=,pid= -p $$').catch(() => undefined), PATIENCE_MS, 'a command that works')
  const [sid, pid] = stdout.trim().split(/\s+/)
  await fails(async () => assert.equal(sid, pid))
})
