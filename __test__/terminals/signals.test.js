/** Signals to the group in front, and job control. */
import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { World } from '../commands/world.js'
import { findSandboxd } from '../support/sandboxd.js'
import { startServer } from '../support/server.js'
import { PROVIDER, mark, matrix, open, openShell, rejection, unless, useWorld } from './world.js'

const world = useWorld()

matrix('C53 each signal reaches exactly the group in front and nobody beside it', async () => {
  const screen = await openShell(world)
  const aside = mark()
  await screen.ask(`sleep ${aside} & echo aside`, '\r\naside\r\n')
  for (const [signal, told] of [['SIGINT', 130], ['SIGTERM', 143], ['SIGKILL', 137], ['SIGHUP', 129]]) {
    await screen.ask('sh -c "echo up; sleep 601 | sleep 602"', '\r\nup\r\n')
    const { processGroupId } = await screen.job()
    assert.equal(await screen.terminal.signalForeground(signal), processGroupId)
    await screen.waits(group => group === screen.pid)
    await screen.ask('echo code:$?', `\r\ncode:${told}\r\n`)
  }
  assert.equal(await world.sleepers(aside), 1)
  await screen.close()
  assert.equal(await world.sleepers(aside), 0)
})

matrix('C53 SIGTSTP stops the job, its shell is in front again, and fg brings it back', async () => {
  const screen = await openShell(world)
  await screen.type('cat\r')
  const { processGroupId } = await screen.waits(group => group !== screen.pid)
  assert.equal(await screen.terminal.signalForeground('SIGTSTP'), processGroupId)
  await screen.shows('Stopped')
  await screen.waits(group => group === screen.pid)
  await screen.type('fg\r')
  await screen.waits(group => group === processGroupId)
  await screen.type('again\r')
  await screen.shows('again\r\nagain\r\n')
  await screen.type('\x04')
  await screen.waits(group => group === screen.pid)
  await screen.close()
})

matrix("C53 the terminal's own shell is not killed, another signal reaches it", async () => {
  const screen = await openShell(world)
  assert.match((await rejection(screen.terminal.signalForeground('SIGKILL'))).message, /refusing to SIGKILL the terminal shell/)
  await screen.type('half a line')
  await screen.shows('half a line')
  // A signal between its keys and its next read is one that bash itself overlooks.
  await screen.waits()
  const from = screen.text.length
  assert.equal(await screen.terminal.signalForeground('SIGINT'), screen.pid)
  await screen.shows('ready> ', from)
  assert.equal(await screen.terminal.signalForeground('SIGHUP'), screen.pid)
  assert.deepEqual(await screen.done(), { exitCode: null, signal: 'SIGHUP' })
})

matrix('C53 a job of another user gets each signal as any other', { skip: PROVIDER !== 'native' && 'the original cannot' }, async t => {
  const { exitCode } = await world.run(['sudo', '-n', 'true']).catch(() => ({}))
  if (exitCode !== 0) return t.skip('nobody becomes root in this sandbox')
  for (const signal of ['SIGINT', 'SIGTSTP', 'SIGTERM', 'SIGHUP', 'SIGKILL']) {
    const sleeper = mark()
    const screen = await openShell(world)
    await screen.type(`sudo sleep ${sleeper}\r`)
    const { processGroupId } = await screen.job()
    await world.untilSleepers(sleeper, 1)
    assert.equal(await screen.terminal.signalForeground(signal), processGroupId, signal)
    await screen.waits(group => group === screen.pid)
    assert.equal(await world.sleepers(sleeper), signal === 'SIGTSTP' ? 1 : 0, signal)
    await screen.close()
    assert.equal(await world.sleepers(sleeper), 0, signal)
  }
})

matrix('C53 a signal that is none of the five is refused', async () => {
  const screen = await open(world, ['cat'])
  for (const signal of ['SIGUSR1', 'SIGCONT', 'INT', 2, undefined, '']) {
    await assert.rejects(screen.terminal.signalForeground(signal), TypeError)
  }
  await screen.close()
})

// https://github.com/openai/openai-agents-python/issues/3074
matrix('C50 C53 the interrupt key and SIGINT end a program although the daemon ignores them (trap D7)', { skip: unless('sandboxd') }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'ignoring-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const wrapper = join(folder, 'sandboxd')
  writeFileSync(wrapper, `#!/bin/sh\ntrap '' INT QUIT HUP TSTP PIPE\nexec '${findSandboxd()}' "$@"\n`)
  chmodSync(wrapper, 0o755)
  const before = process.env.DSH_TEST_SANDBOXD
  process.env.DSH_TEST_SANDBOXD = wrapper
  t.after(() => {
    if (before === undefined) delete process.env.DSH_TEST_SANDBOXD
    else process.env.DSH_TEST_SANDBOXD = before
  })
  const deaf = new World()
  deaf.server = await startServer()
  t.after(() => deaf.server.stop())
  await deaf.open({})
  t.after(() => deaf.composition.dispose())
  const ignored = await deaf.witness('sed -n "s/^SigIgn:.//p" /proc/self/status')
  assert.ok((Number.parseInt(ignored, 16) & 2) !== 0 || ignored.trim() === '0000000000000000', 'what the daemon hands on')
  for (const interrupt of [screen => screen.type('\x03'), screen => screen.terminal.signalForeground('SIGINT')]) {
    const screen = await open(deaf, ['sh', '-c', 'grep SigIgn /proc/self/status; exec sleep 30'])
    await screen.shows('SigIgn:\t0000000000000000')
    await interrupt(screen)
    assert.deepEqual(await screen.done(), { exitCode: null, signal: 'SIGINT' })
  }
})

// https://github.com/GaloyMoney/drua/pull/243
matrix('C50 the program leads its session, owns its terminal and has job control without a warning (trap D8)', async () => {
  const script = 'echo x >/dev/tty; jobs; set -m; sleep 5 & jobs; ps -o pid=,pgid=,sid=,tty= -p $$; kill %1; wait'
  const screen = await open(world, ['bash', '-c', script])
  await screen.bytes()
  const own = `\\s*${screen.pid}\\s+${screen.pid}\\s+${screen.pid}\\s+pts/\\d+\\s*\\r\\n`
  assert.match(screen.text, new RegExp(`^x\\r\\n\\[1\\]\\+  Running +sleep 5 &\\r\\n${own}`))
  const shell = await openShell(world)
  assert.doesNotMatch(shell.text, /no job control|cannot set terminal process group/)
  await shell.close()
})

matrix('C50 a command that is no terminal has none, and takes no other (trap D8)', async () => {
  const screen = await openShell(world)
  const { stdout, stderr } = await world.run(['bash', '-ic', 'echo hi; echo x 2>/dev/null >/dev/tty && echo has a terminal'])
  assert.equal(stdout, 'hi\n')
  assert.match(stderr, /no job control/)
  assert.equal((await screen.waits()).processGroupId, screen.pid)
  await screen.close()
})
