/** The end of a terminal: asked for at any moment, by anybody, again after a failure. */
import assert from 'node:assert/strict'
import { World, settled } from '../commands/world.js'
import { openLine } from '../support/line.js'
import { EXTENDED, PATIENCE_MS, PROVIDER, mark, matrix, open, openShell, rejection, until, untilTerminals, useWorld, within } from './world.js'

const world = useWorld()
const external = process.env.DSH_TEST_E2B_API_URL !== undefined

/** A program that nothing but SIGKILL ends, with children of every kind. */
const stubborn = sleeper => ['bash', '-c', `trap "" TERM HUP INT; set -m; sleep ${sleeper} & (trap "" TERM HUP; sleep ${sleeper}) & disown -a; set +m; sleep ${sleeper} & echo up; while :; do sleep ${sleeper}; done`]

matrix('C54 D26 terminate ends every group of the session, stopped, disowned and deaf ones too', async () => {
  const sleeper = mark()
  const screen = await openShell(world)
  await screen.type(`sleep ${sleeper} & (trap "" TERM HUP; sleep ${sleeper}) & disown; nohup sleep ${sleeper} >/dev/null 2>&1 &\r`)
  await screen.type(`sleep ${sleeper}\r`)
  await world.untilSleepers(sleeper, 4)
  await screen.type('\x1a')
  await screen.shows('Stopped')
  await screen.close()
  assert.equal(await world.sleepers(sleeper), 0)
  assert.deepEqual(await screen.done(), { exitCode: null, signal: 'SIGKILL' })
})

matrix('C54 terminate asks first: a program has its grace to leave by itself', async () => {
  const screen = await open(world, ['bash', '-c', 'trap "echo bye; exit 9" TERM; echo up; while :; do read -t 0.02 line; done'], { graceMs: 10_000 })
  await screen.shows('up')
  await screen.close()
  assert.deepEqual(await screen.done(), { exitCode: 9, signal: null })
  assert.match((await screen.bytes()).toString(), /bye\r\n$/)
})

matrix('C54 while it ends, what was asked and what is asked rejects, and every terminate is the same end', async () => {
  const screen = await open(world, stubborn(mark()), { graceMs: 400 })
  await screen.shows('up')
  const asked = [screen.terminal.write('x'.repeat(3_000_000)), screen.terminal.inspectForeground(), screen.terminal.signalForeground('SIGTSTP')]
  const results = Promise.allSettled(asked)
  const ends = [screen.terminal.terminate(), screen.terminal.terminate()]
  for (const late of [() => screen.terminal.write('x'), () => screen.terminal.inspectForeground(), () => screen.terminal.signalForeground('SIGINT')]) {
    assert.match((await rejection(late())).message, /terminal is terminating/)
  }
  screen.terminal.resize(10, 10)
  for (const { status, reason } of await within(results, PATIENCE_MS, 'what was asked')) {
    assert.equal(status, 'rejected')
    assert.match(reason.message, /terminal is terminating/)
  }
  await within(Promise.all(ends), PATIENCE_MS, 'the end')
  await screen.close()
})

matrix('C54 terminate at any moment after the opening leaves nothing', async () => {
  const rounds = EXTENDED ? 200 : 24
  await Promise.all([0, 1, 2].map(async lane => {
    for (let round = lane; round < rounds; round += 3) {
      const sleeper = mark()
      const screen = await open(world, stubborn(sleeper), { graceMs: 50, unread: round % 2 === 1 })
      await new Promise(resolve => setTimeout(resolve, round % 12))
      await screen.close()
      assert.equal(await world.sleepers(sleeper), 0)
      assert.ok((await screen.done()).signal !== undefined)
    }
  }))
  await untilTerminals(world, 0)
})

matrix('C54 terminate of a terminal that has ended by itself resolves, and ends who was left', async () => {
  const sleeper = mark()
  const screen = await open(world, ['bash', '-c', `trap "" HUP; (trap "" TERM HUP; sleep ${sleeper}) & exit 4`])
  assert.deepEqual(await screen.done(), { exitCode: 4, signal: null })
  await screen.close()
  assert.equal(await world.sleepers(sleeper), 0)
  assert.deepEqual(await screen.done(), { exitCode: 4, signal: null })
})

matrix('C54 C56 a terminal whose output nobody reads can be ended', async () => {
  const screen = await open(world, ['yes'], { unread: true })
  await until(() => screen.terminal.output.readableLength > 0 || screen.terminal.output.read(0) !== null, PATIENCE_MS, 'output').catch(() => {})
  await screen.close()
  assert.equal((await screen.done()).exitCode, null)
})

matrix('C54 C32 an end that could not be told is told by the next try', { skip: external && 'needs a line of its own' }, async t => {
  const line = await openLine(world.server.sandboxUrl)
  t.after(() => line.close())
  const behind = new World()
  behind.server = { ...world.server, sandboxUrl: line.url }
  await behind.open({ silenceMs: 300, lostAfterMs: 300 })
  t.after(() => behind.composition.dispose())
  const sleeper = mark()
  const screen = await open(behind, stubborn(sleeper))
  await screen.shows('up')
  line.silent = true
  const failure = await rejection(screen.terminal.terminate(), 'an end that nobody hears of', 3 * PATIENCE_MS)
  assert.ok(failure instanceof Error)
  line.silent = false
  await until(() => screen.terminal.terminate().then(() => true, () => false), PATIENCE_MS, 'the end by another try', 100)
  assert.equal(await behind.sleepers(sleeper), 0)
})

matrix('C60 C54 the end of the service ends terminals, and refuses those that are being opened', async () => {
  const other = await world.another()
  const sleeper = mark()
  const screens = [await open(other, stubborn(sleeper)), await openShell(other), await open(other, ['yes'], { unread: true })]
  await screens[0].shows('up')
  const late = Array.from({ length: 5 }, () => open(other, ['sleep', sleeper]).then(() => 'opened', error => error.message))
  await other.endProvider()
  for (const how of await Promise.all(late)) assert.match(how, /opened|service is disposing/)
  for (const screen of screens) await screen.done()
  assert.equal(await other.sleepers(sleeper), 0)
  await untilTerminals(other, 0)
  await other.composition.dispose()
})

matrix('C60 C20 after the end of the service each terminal has its own outcome, read or not', async () => {
  const other = await world.another()
  const much = 'stty -opost; head -c 70000 /dev/zero'
  const cases = [
    [`${much}; exit 3`, { exitCode: 3, signal: null }],
    [`trap "exit 7" TERM; ${much}; while :; do sleep .05; done`, { exitCode: 7, signal: null }],
    ['exec yes', { exitCode: null, signal: 'SIGTERM' }],
  ]
  const screens = []
  for (const [script] of cases) screens.push(await open(other, ['bash', '-c', script], { unread: true, graceMs: PATIENCE_MS }))
  // Each has written something, the second what it had to.
  for (const { terminal } of screens) await within(new Promise(resolve => terminal.output.once('readable', resolve)), PATIENCE_MS, 'output')
  await until(async () => !/^head$/m.test(await other.witness('ps -eo comm', { user: 'root' })), PATIENCE_MS, 'programs that have said all')
  await other.endProvider()
  for (const [at, [script, outcome]] of cases.entries()) assert.deepEqual(await screens[at].done(), outcome, script)
  await other.composition.dispose()
})

matrix('C24 when the sandbox is gone a terminal is over: killed, its output ended, its writes refused', async () => {
  const other = await world.another()
  const [idle, writing] = [await openShell(other), await open(other, ['sh', '-c', 'stty raw -echo; echo up; exec sleep 600'])]
  await writing.shows('up')
  const stuck = rejection(writing.terminal.write('x'.repeat(3_000_000)), 'a write into nowhere')
  await (await other.composition.sandbox()).kill()
  for (const screen of [idle, writing]) {
    assert.deepEqual(await settled(screen.terminal, 'a terminal of a dead sandbox', 2 * PATIENCE_MS), { exitCode: null, signal: 'SIGKILL' })
    await screen.bytes()
    await screen.close()
    assert.ok(await rejection(screen.terminal.write('x')) instanceof Error)
  }
  assert.ok(await stuck instanceof Error)
  const opening = other.subprocess.spawnTerminal({ argv: ['true'], cwd: other.cwd, rows: 1, cols: 1, graceMs: 100 })
  assert.ok(await rejection(opening, 'an opening in a dead sandbox', 2 * PATIENCE_MS) instanceof Error)
  await other.composition.dispose().catch(() => {})
})

matrix('C24 C21 a terminal whose sandbox goes while it opens is told so, not called terminated', { skip: (external || PROVIDER !== 'native') && 'needs a line of its own' }, async t => {
  const line = await openLine(world.server.sandboxUrl)
  t.after(() => line.close())
  const behind = new World()
  behind.server = { ...world.server, sandboxUrl: line.url }
  await behind.open({ silenceMs: 600 })
  line.silent = true
  const opening = rejection(open(behind, ['cat']), 'an opening in a sandbox that goes', 2 * PATIENCE_MS)
  // By then it is on its way.
  await world.run(['true'])
  await (await behind.composition.sandbox()).kill()
  const { code, message } = await opening
  assert.equal(code, 'ERR_SANDBOX_GONE', message)
  await behind.composition.dispose().catch(() => {})
})

matrix('C35 a terminal whose program kills the supervisor is killed, or was not opened for that reason', { skip: PROVIDER !== 'native' && 'about our own supervisor' }, async () => {
  const other = await world.another()
  for (let round = 0; round < 8; round++) {
    const opening = other.subprocess.spawnTerminal({ argv: ['sh', '-c', 'kill -9 -1'], cwd: other.cwd, rows: 1, cols: 1, graceMs: 100 })
    const how = await within(opening.then(({ done }) => done, ({ code, message }) => code ?? message), PATIENCE_MS, 'the end of an opening')
    if (how !== 'ERR_SUPERVISOR_KILLED') assert.deepEqual(how, { exitCode: null, signal: 'SIGKILL' })
    await (await open(other, ['true'])).done()
  }
  await other.composition.dispose().catch(() => {})
})

matrix('C54 what a program leaves in the background ends with its terminal, though nobody asks', async () => {
  const sleeper = mark()
  const screen = await open(world, ['bash', '-c', `trap "" HUP; sleep ${sleeper} <>/dev/null >&0 2>&0 & exit 6`])
  assert.deepEqual(await screen.done(), { exitCode: 6, signal: null })
  await world.untilSleepers(sleeper, 0)
})

matrix('C56 a program goes on when its output was destroyed: nobody reads it any more', async () => {
  const file = `destroyed-${mark()}`
  const screen = await open(world, ['bash', '-c', `echo up; read go; seq 1000000; echo over > ${file}; exit 2`], { unread: true })
  for await (const part of screen.terminal.output) {
    if (String(part).includes('up')) break
  }
  assert.ok(screen.terminal.output.destroyed)
  await screen.terminal.write('\r')
  assert.deepEqual(await within(screen.terminal.done, PATIENCE_MS, 'the outcome'), { exitCode: 2, signal: null })
  assert.equal(await world.witness(`cat ${world.cwd}/${file}`), 'over\n')
})
