/** What is typed: whole, unchanged, to the program in front; and what happens when nobody reads it. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { PATIENCE_MS, mark, matrix, open, rejection, supervisorCpuMs, until, useWorld, within } from './world.js'

const world = useWorld()
const sum = data => createHash('sha256').update(data).digest('hex')

matrix('C51 text arrives as UTF-8, without any conversion of newlines', async () => {
  const screen = await open(world, ['sh', '-c', 'stty raw -echo; echo up; head -c 20 | od -An -v -tx1 | tr -d " \\n\\r"'])
  await screen.shows('up')
  const text = 'a\nb\rc\r\nd\0é汉😀\x7f'
  await screen.type(text)
  const hex = Buffer.from(text).toString('hex')
  assert.equal(hex.length, 38)
  await screen.type('!')
  await screen.shows(`${hex}21`)
  await screen.bytes()
})

matrix('C51 many writes at once arrive in the order of their calls', async () => {
  const screen = await open(world, ['sh', '-c', 'stty raw -echo; echo up; head -c 49000 | sha256sum'])
  await screen.shows('up')
  const words = Array.from({ length: 7000 }, (_, at) => `${at}`.padStart(6, '0').concat(','))
  await within(Promise.all(words.map(word => screen.terminal.write(word))), PATIENCE_MS, 'the writes')
  await screen.shows(sum(words.join('')))
})

// https://github.com/microsoft/node-pty/pull/831
matrix('C51 a large paste before anybody reads arrives whole and waits for its place (trap D4)', async () => {
  const gate = `gate-${process.pid}`
  const script = `stty raw -echo; echo up; while ! test -e ${gate}; do sleep .02; done; head -c 65536 | sha256sum`
  const screen = await open(world, ['sh', '-c', script])
  await screen.shows('up')
  const paste = Array.from({ length: 8192 }, (_, at) => at.toString(36).padStart(8, '.')).join('')
  const write = screen.terminal.write(paste)
  await world.run(['touch', gate])
  await within(write, PATIENCE_MS, 'the paste')
  await screen.shows(sum(paste))
})

matrix('C51 a paste beyond what the line may hold is held back and none of it is lost (trap D4)', async () => {
  const gate = `big-${process.pid}`
  const bytes = 2_000_000
  const script = `stty raw -echo; echo up; while ! test -e ${gate}; do sleep .02; done; head -c ${bytes} | sha256sum`
  const screen = await open(world, ['sh', '-c', script])
  await screen.shows('up')
  const paste = Array.from({ length: bytes / 8 }, (_, at) => at.toString(36).padStart(8, '.')).join('')
  let accepted = false
  const write = screen.terminal.write(paste).then(() => { accepted = true })
  // The terminal and the link hold less than this; another command that runs meanwhile gives the write time to be wrong.
  await world.run(['sleep', '0.3'])
  assert.equal(accepted, false)
  await world.run(['touch', gate])
  await within(write, PATIENCE_MS, 'the paste')
  await screen.shows(sum(paste))
})

// https://github.com/microsoft/node-pty/pull/956
matrix('C51 C54 a program that stopped reading costs no other terminal and no processor time (trap D5)', async t => {
  const deaf = await open(world, ['sh', '-c', 'stty raw -echo; echo up; exec sleep 600'])
  const other = await open(world, ['sh', '-c', 'stty raw -echo; echo up; exec cat'])
  await Promise.all([deaf.shows('up'), other.shows('up')])
  const memory = process.memoryUsage().rss
  const stuck = rejection(deaf.terminal.write('x'.repeat(4_000_000)), 'the write to a deaf program', 2 * PATIENCE_MS)
  const cpuBefore = [process.cpuUsage(), await supervisorCpuMs(world)]
  const started = performance.now()
  const latencies = []
  for (let round = 0; round < 20; round++) {
    const key = String.fromCharCode(97 + round)
    const from = other.text.length
    const begun = performance.now()
    await other.type(key)
    await until(() => other.text.slice(from) === key, PATIENCE_MS, 'the echo', 1)
    latencies.push(performance.now() - begun)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  const elapsed = performance.now() - started
  const { user, system } = process.cpuUsage(cpuBefore[0])
  const hostMs = (user + system) / 1000
  const boxMs = (await supervisorCpuMs(world)) - cpuBefore[1]
  latencies.sort((a, b) => a - b)
  t.diagnostic(`echo median ${latencies[10].toFixed(1)} ms; in ${elapsed.toFixed(0)} ms the host used ${hostMs.toFixed(0)} ms, the supervisor ${boxMs} ms`)
  assert.ok(boxMs < elapsed / 4, `the supervisor used ${boxMs} ms in ${elapsed} ms`)
  assert.ok(hostMs < elapsed / 2, `the host used ${hostMs} ms in ${elapsed} ms`)
  assert.ok(process.memoryUsage().rss - memory < 32 << 20)
  await deaf.close()
  assert.match((await stuck).message, /terminal is terminating/)
  await other.close()
})

// https://github.com/chjj/pty.js/issues/15
matrix('C51 the end-of-file key ends a reader, once on an empty line and twice behind text (trap D10)', async () => {
  for (const [before, keys] of [['', '\x04'], ['unfinished', '\x04\x04']]) {
    const screen = await open(world, ['cat'])
    await screen.waits()
    await screen.type(before)
    if (before !== '') await screen.shows(before)
    await screen.type(keys)
    assert.deepEqual(await screen.done(), { exitCode: 0, signal: null }, before)
    // Echo and, where it was read, cat's own copy.
    assert.equal((await screen.bytes()).toString().replaceAll('^D\b\b', ''), before.repeat(2))
  }
})

matrix('C51 what is typed before the program reads is not lost', async () => {
  const screen = await open(world, ['sh', '-c', 'sleep .3; read line; echo "<$line>"'])
  await screen.type('early\n')
  await screen.shows('<early>\r\n')
})

matrix('C54 what a write did not tell to be typed is not typed after terminate', async () => {
  const file = `typed-${mark()}`
  const script = `import os,select,signal,tty
signal.pthread_sigmask(signal.SIG_BLOCK,[signal.SIGTERM]); tty.setraw(0); os.write(1,b"up"); signal.sigwait([signal.SIGTERM])
count=0
while select.select([0],[],[],1)[0]: count+=len(os.read(0,65536))
open("${file}","w").write(str(count))`
  const screen = await open(world, ['python3', '-c', script], { graceMs: 2 * PATIENCE_MS })
  await screen.shows('up')
  await screen.type('told')
  const rejected = rejection(screen.terminal.write('x'.repeat(4_000_000)), 'a write that is called off')
  await screen.close()
  assert.match((await rejected).message, /terminal is terminating/)
  const count = Number(await world.witness(`cat ${world.cwd}/${file}`))
  // What was on the line already can't be taken back.
  assert.ok(count >= 4 && count < 500_000, `${count} bytes were typed`)
})

matrix('C51 after the exit a write rejects, also one that was waiting', async () => {
  const screen = await open(world, ['sh', '-c', 'stty raw -echo; echo up; sleep .5'])
  await screen.shows('up')
  const waiting = rejection(screen.terminal.write('x'.repeat(4_000_000)), 'a write that waits')
  await screen.done()
  assert.match((await waiting).message, /terminal process has exited/)
  assert.match((await rejection(screen.terminal.write('late'))).message, /terminal process has exited/)
})
