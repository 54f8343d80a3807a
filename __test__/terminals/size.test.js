/** The size of a terminal: from its first moment on, and when it changes. */
import assert from 'node:assert/strict'
import { EXTENDED, PATIENCE_MS, PROVIDER, matrix, open, openShell, refusal, until, useWorld } from './world.js'
import { openLine } from '../support/line.js'
import { World } from '../commands/world.js'

const world = useWorld()

// https://github.com/moby/moby/issues/35407
matrix('C50 the very first read gives the size that was asked for, every time (trap D1)', async () => {
  const rounds = EXTENDED ? 50 : 10
  for (let round = 0; round < rounds; round++) {
    const screens = await Promise.all([1, 2, 3, 4].map(() => open(world, ['stty', 'size'], { rows: 40, cols: 120 })))
    for (const screen of screens) {
      assert.equal((await screen.bytes()).toString(), '40 120\r\n')
      assert.deepEqual(await screen.done(), { exitCode: 0, signal: null })
    }
  }
})

matrix('C50 the size does not change by itself after the start (trap D1)', async () => {
  const screen = await open(world, ['bash', '-c', 'tput lines; sleep .2; tput lines; tput cols'], { rows: 40, cols: 120, env: { TERM: 'xterm' } })
  assert.equal((await screen.bytes()).toString(), '40\r\n40\r\n120\r\n')
})

matrix('C50 the smallest and the largest size are taken as they are', async () => {
  for (const [rows, cols] of [[1, 1], [65_535, 65_535]]) {
    const screen = await open(world, ['stty', 'size'], { rows, cols })
    assert.equal((await screen.bytes()).toString(), `${rows} ${cols}\r\n`)
  }
})

matrix('C50 D13 a new terminal of a size that no terminal has rejects, and names what is wrong', { skip: PROVIDER !== 'native' && 'the original takes the nearest size' }, async () => {
  for (const bad of [NaN, Infinity, 0, 1.5, -1, 70_000, 65_536, 2 ** 32 + 5, null, '24', true, 24n]) {
    for (const side of ['rows', 'cols']) {
      const error = await refusal(world, ['true'], { [side]: bad })
      assert.ok(error instanceof RangeError, `${side} ${bad}: ${error}`)
      assert.equal(error.message, `subprocess-e2b: a terminal has 1 to 65535 ${side}, not ${bad}`)
    }
  }
})

matrix('C50 a new terminal without a size is one of 24 × 80', { skip: PROVIDER !== 'native' && 'the original makes none' }, async () => {
  const screen = await open(world, ['stty', 'size'], { rows: undefined, cols: undefined })
  assert.equal((await screen.bytes()).toString(), '24 80\r\n')
})

matrix('C57 a shell sees a new size, as does the program that it started before', async () => {
  const screen = await openShell(world)
  await screen.type('bash -c \'trap "stty size" WINCH; echo up; while :; do sleep .02; done\'\r')
  await screen.shows('\r\nup')
  screen.terminal.resize(31, 97)
  await screen.shows('31 97')
  await screen.terminal.signalForeground('SIGTERM')
  await screen.waits(group => group === screen.pid)
  await screen.ask('stty size', '\r\n31 97\r\n')
  await screen.close()
})

matrix('C57 a size that no terminal has is refused and changes nothing', async () => {
  const screen = await openShell(world)
  for (const [rows, cols] of [[0, 80], [24, 0], [-1, 80], [24, 65_536], [1.5, 80], [NaN, 80], ['24', 80]]) {
    assert.throws(() => screen.terminal.resize(rows, cols), RangeError, `${rows} × ${cols}`)
  }
  await screen.ask('stty size', '\r\n24 80\r\n')
  await screen.close()
})

// https://github.com/microsoft/node-pty/pull/901
matrix('C51 C57 whatever is asked of a terminal that ends and has ended rejects or does nothing (trap D2)', async () => {
  const uncaught = []
  const onUncaught = error => uncaught.push(error)
  process.on('uncaughtExceptionMonitor', onUncaught)
  const screen = await open(world, ['true'])
  const texts = new Set()
  const note = error => { texts.add(error.message) }
  let over
  screen.terminal.done.then(() => { over = performance.now() })
  await until(async () => {
    screen.terminal.resize(24 + Math.floor(Math.random() * 10), 80)
    await Promise.all([
      screen.terminal.write('x').catch(note),
      screen.terminal.inspectForeground().catch(note),
      screen.terminal.signalForeground('SIGINT').catch(note),
    ])
    return over !== undefined && performance.now() - over > 1000
  }, PATIENCE_MS, 'a second after the end', 0)
  process.off('uncaughtExceptionMonitor', onUncaught)
  assert.deepEqual(uncaught, [])
  // On a busy machine an interrupt may come first.
  assert.match(JSON.stringify(await screen.done()), /^{"exitCode":(0,"signal":null|null,"signal":"SIGINT")}$/)
  for (const text of texts) assert.match(text, /terminal process has exited|cannot resolve foreground process group/)
  assert.equal(await screen.front(), undefined)
  await screen.close()
})

matrix('C57 an equal size is not sent again (trap D2)', { skip: process.env.DSH_TEST_E2B_API_URL !== undefined && 'counts bytes of a line of its own' }, async t => {
  const line = await openLine(world.server.sandboxUrl)
  t.after(() => line.close())
  const behind = new World()
  behind.server = { ...world.server, sandboxUrl: line.url }
  await behind.open({})
  t.after(() => behind.composition.dispose())
  const screen = await openShell(behind)
  const sent = async rows => {
    const before = line.bytes.up
    for (let round = 0; round < 500; round++) screen.terminal.resize(rows(round), 80)
    // An answer that comes behind them proves that they are through.
    await screen.ask('stty size', `${rows(499)} 80`)
    return line.bytes.up - before
  }
  const different = await sent(round => 30 + round % 2)
  const equal = await sent(() => 31)
  assert.ok(different > 3000, `control: 500 different sizes take ${different} bytes`)
  assert.ok(equal < 1500, `500 equal sizes take ${equal} bytes`)
  await screen.close()
})
