/** What a program writes to its terminal: all of it, in order, before the end. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { EXTENDED, PATIENCE_MS, Screen, matrix, open, openShell, until, useWorld, within } from './world.js'

const world = useWorld()

// https://github.com/microsoft/node-pty/issues/726
matrix('C51 the last page of a program that prints and exits at once arrives (trap A2)', async () => {
  const text = 'hello'.repeat(4096)
  const rounds = EXTENDED ? 100 : 15
  for (let round = 0; round < rounds; round++) {
    const [long, short] = await Promise.all([open(world, ['/bin/echo', '-n', text]), open(world, ['printf', 'ok'])])
    assert.equal((await long.bytes()).toString(), text)
    assert.equal((await short.bytes()).toString(), 'ok')
    assert.deepEqual(await long.done(), { exitCode: 0, signal: null })
  }
})

matrix('C51 when the output has ended, everything has been read whatever done said before (trap A2)', async () => {
  const screen = await open(world, ['seq', '1', '20000'], { unread: true })
  const outcome = screen.terminal.done
  const stream = screen.terminal.output
  // A reader that begins late, after the program could have ended if it had been let.
  await within(new Promise(resolve => stream.once('readable', resolve)), PATIENCE_MS, 'the first bytes')
  await world.run(['true'])
  const text = (await screen.read().bytes()).toString()
  assert.equal(text, Array.from({ length: 20_000 }, (_, at) => `${at + 1}\r\n`).join(''))
  assert.deepEqual(await within(outcome, PATIENCE_MS, 'the outcome'), { exitCode: 0, signal: null })
})

matrix('C51 who reads a terminal has had all of its output when done is told, although the program was over before anybody could', async () => {
  const opening = world.subprocess.spawnTerminal({ argv: ['seq', '5000'], cwd: world.cwd, rows: 24, cols: 80, graceMs: PATIENCE_MS })
  await new Promise(setImmediate)
  // A busy harness hears of the start, the bytes and the end at once.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  const screen = new Screen(await within(opening, PATIENCE_MS, 'a terminal'))
  screen.read()
  await screen.done()
  assert.equal(screen.text.split('\r\n').length, 5001)
  assert.equal(screen.ended, true)
})

// https://github.com/microsoft/node-pty/issues/178
matrix('C51 the close of the last user of a terminal is its end, no error (trap A4)', async () => {
  const sleeping = await open(world, ['sleep', '0.3'])
  const shell = await openShell(world)
  await shell.type('exit 7\r')
  for (const [screen, exitCode] of [[sleeping, 0], [shell, 7]]) {
    await screen.bytes()
    assert.equal(screen.failure, undefined)
    assert.deepEqual(await screen.done(), { exitCode, signal: null })
  }
})

matrix('C51 a program that closes the terminal and lives on is not at its end (trap A4)', async () => {
  const script = 'echo before; exec <&- >&- 2>&-; sleep .4; exec </dev/tty >/dev/tty; echo after; exit 5'
  const screen = await open(world, ['bash', '-c', script])
  assert.equal((await screen.bytes()).toString(), 'before\r\nafter\r\n')
  assert.deepEqual(await screen.done(), { exitCode: 5, signal: null })
})

// https://github.com/sursaone/bun-pty/issues/41
matrix('C51 an echo never stops while children end all the time (trap A5)', { timeout: EXTENDED ? 10 * PATIENCE_MS : 2 * PATIENCE_MS }, async t => {
  const screen = await open(world, ['sh', '-c', 'stty -echo; echo up; exec cat'])
  await screen.shows('up')
  // Both sides see children end: the harness' own here, the supervisor's in the sandbox.
  const { spawn } = await import('node:child_process')
  let ended = 0
  let storm = true
  t.after(() => { storm = false })
  const here = (async () => {
    while (storm) await new Promise(resolve => spawn('true', { stdio: 'ignore' }).once('close', () => { ended++; resolve() }))
  })()
  const there = Promise.all([1, 2].map(async () => { while (storm) await world.run(['true']) }))
  const from = screen.text.length
  const typed = []
  const rounds = EXTENDED ? 6000 : 200
  for (let round = 0; round < rounds; round++) {
    typed.push(`${round}\r\n`)
    await screen.type(`${round}\n`)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  await until(() => screen.text.length - from >= typed.join('').length, PATIENCE_MS, 'the last echo')
  storm = false
  await Promise.all([here, there])
  t.diagnostic(`${ended} children ended here meanwhile`)
  assert.ok(ended > 50, `control: ${ended} children ended`)
  assert.equal(screen.text.slice(from), typed.join(''))
  await screen.close()
})

// https://github.com/modal-labs/libmodal/issues/245
matrix('C51 a terminal shows all that a pipe carries (trap A7)', async () => {
  const screen = await open(world, ['seq', '1', '50000'])
  const shown = (await screen.bytes()).toString().replaceAll('\r\n', '\n')
  const { stdout } = await world.run(['seq', '1', '50000'])
  const sum = text => createHash('sha256').update(text).digest('hex')
  assert.equal(sum(shown), sum(stdout))
  const piped = await world.run(['sh', '-c', 'test -t 0 || test -t 1 || test -t 2 || echo no terminal'])
  assert.equal(piped.stdout, 'no terminal\n')
})

matrix('C51 every byte value comes as it was written, cut nowhere', async () => {
  const script = 'import os,sys,tty; tty.setraw(0); d=bytes(range(256))*4096; n=0\nwhile n<len(d): n+=os.write(1,d[n:n+70001])'
  const screen = await open(world, ['python3', '-c', script])
  const expected = Buffer.alloc(1 << 20, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)))
  assert.ok((await screen.bytes()).equals(expected))
})

matrix('C51 the output ends with the program although others hold the terminal', async () => {
  const screen = await open(world, ['bash', '-c', 'trap "" HUP; (trap "" TERM HUP; sleep 600) & echo up; exit 3'])
  assert.equal((await screen.bytes()).toString(), 'up\r\n')
  assert.deepEqual(await screen.done(), { exitCode: 3, signal: null })
  await screen.close()
})

matrix('C51 C20 the outcome of a program is told although its last output waits for a reader that pauses', async () => {
  // A grace that nobody here has the patience for.
  const screen = await open(world, ['sh', '-c', 'stty -opost; head -c 70000 /dev/zero; exit 3'], { unread: true, graceMs: 4 * PATIENCE_MS })
  assert.deepEqual(await screen.done(), { exitCode: 3, signal: null })
  assert.equal((await screen.read().bytes()).length, 70_000)
})

matrix('C51 C20 who is killed is told by the signal, who exits like it by the code', async () => {
  for (const [script, expected] of [['kill -TERM $$', { exitCode: null, signal: 'SIGTERM' }], ['exit 143', { exitCode: 143, signal: null }], ['kill -SEGV $$', { exitCode: null, signal: 'SIGSEGV' }]]) {
    const screen = await open(world, ['sh', '-c', script])
    assert.deepEqual(await screen.done(), expected)
  }
})
