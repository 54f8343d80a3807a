/** A terminal whose connection breaks, and the vendor's own terminals beside ours. */
import assert from 'node:assert/strict'
import { World } from '../commands/world.js'
import { openLine } from '../support/line.js'
import { PATIENCE_MS, matrix, open, openShell, until, useWorld, within } from './world.js'

const world = useWorld()
const skip = process.env.DSH_TEST_E2B_API_URL !== undefined && 'needs a line of its own'

/** A composition behind a line that can be cut. */
async function behindLine(t, config = {}) {
  const line = await openLine(world.server.sandboxUrl)
  t.after(() => line.close())
  const behind = new World()
  behind.server = { ...world.server, sandboxUrl: line.url }
  await behind.open(config)
  t.after(() => behind.composition.dispose())
  return { line, behind }
}

// https://github.com/e2b-dev/E2B/pull/1053
matrix('C51 typing works on after the line was cut (trap D13)', { skip }, async t => {
  const { line, behind } = await behindLine(t)
  const screen = await openShell(behind)
  for (let round = 0; round < 5; round++) {
    line.cut()
    await screen.ask(`echo round:$((${round}+100))`, `\r\nround:${round + 100}\r\n`)
  }
  assert.equal((await screen.waits()).processGroupId, screen.pid)
  await screen.close()
})

matrix('C51 no byte is lost or repeated while the line is cut all the time, in either direction', { skip }, async t => {
  const { line, behind } = await behindLine(t)
  const counting = await open(behind, ['seq', '1', '60000'])
  const echo = await open(behind, ['sh', '-c', 'stty raw -echo; echo up; exec cat'])
  await echo.shows('up')
  const cutting = setInterval(() => line.cut(), 60)
  t.after(() => clearInterval(cutting))
  const from = echo.text.length
  let typed = ''
  for (let round = 0; round < 200; round++) {
    typed += `${round},`
    await echo.type(`${round},`)
  }
  await until(() => echo.text.length - from >= typed.length, PATIENCE_MS, 'the echo')
  assert.equal(echo.text.slice(from), typed)
  assert.equal((await counting.bytes()).toString(), Array.from({ length: 60_000 }, (_, at) => `${at + 1}\r\n`).join(''))
  clearInterval(cutting)
  await echo.close()
})

matrix('C53 a signal that meets a cut line reaches the group once', { skip }, async t => {
  const { line, behind } = await behindLine(t)
  const screen = await open(behind, ['bash', '-c', 'trap "echo [int]" INT; echo up; while :; do sleep .02; done'])
  await screen.shows('up')
  for (let round = 1; round <= 5; round++) {
    const signalled = screen.terminal.signalForeground('SIGINT')
    line.cut()
    assert.equal(await within(signalled, PATIENCE_MS, 'the signal'), screen.pid)
    await until(() => screen.text.split('[int]').length - 1 === round, PATIENCE_MS, `interrupt ${round}`)
  }
  await screen.type('\r')
  assert.equal(screen.text.split('[int]').length - 1, 5)
  await screen.close()
})

matrix('C54 ending twice is ending once, and an id that is nobody is ended already (trap D13)', async () => {
  const screen = await open(world, ['cat'])
  await Promise.all([screen.close(), screen.close()])
  await screen.close()
})

matrix("the vendor's own terminals can be left, joined again by their id, and ended beside ours (trap D13)", async () => {
  const sandbox = await world.composition.sandbox()
  const ours = await openShell(world)
  let text = ''
  const onData = data => { text += Buffer.from(data).toString() }
  const first = await sandbox.pty.create({ cols: 80, rows: 24, onData })
  await sandbox.pty.sendInput(first.pid, Buffer.from('echo one$((1))\r'))
  await until(() => text.includes('one1'), PATIENCE_MS, 'the first answer')
  await first.disconnect()
  await sandbox.pty.connect(first.pid, { onData })
  await sandbox.pty.sendInput(first.pid, Buffer.from('echo two$((2))\r'))
  await until(() => text.includes('two2'), PATIENCE_MS, 'the second answer')
  await ours.ask('echo still$((3))', '\r\nstill3\r\n')
  assert.equal(await sandbox.pty.kill(first.pid), true)
  assert.equal(await until(async () => (await sandbox.pty.kill(first.pid)) === false, PATIENCE_MS, 'nobody of that id'), true)
  assert.equal(await sandbox.pty.kill(999_999), false)
  await ours.ask('echo alive$((4))', '\r\nalive4\r\n')
  await ours.close()
})
