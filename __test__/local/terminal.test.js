import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, World, bytesOf, isAlive, useWorld } from './support.js'

const world = useWorld()
const SHELL = ['bash', '--norc', '--noprofile', '-i']

/** A shell that waits for input, and everything that it has shown. */
async function shell(options) {
  const terminal = await world.terminal(SHELL, { env: { PS1: '> ' }, ...options })
  const shown = { text: '' }
  terminal.output.on('data', chunk => { shown.text += chunk })
  await waiting(terminal)
  return { terminal, shown, shows: text => until(() => shown.text.includes(text), PATIENCE_MS, `${JSON.stringify(text)} on the terminal`) }
}

const waiting = terminal => until(async () => (await terminal.inspectForeground())?.inputWaiting, PATIENCE_MS, 'a shell that waits')

test('C50 the first bytes are the program\'s own, on a terminal of the wanted size, with TERM=dumb and PWD', async () => {
  const terminal = await world.terminal(['sh', '-c', 'stty size; echo $TERM $PWD; tty; exit 7'], { rows: 33, cols: 99 })
  const text = (await within(bytesOf(terminal.output), PATIENCE_MS, 'its output')).toString()
  assert.match(text, /^33 99\r\ndumb \/tmp\r\n\/dev\/pts\/\d+\r\n$/)
  assert.deepEqual(await terminal.done, { exitCode: 7, signal: null })
  const named = await world.terminal(['sh', '-c', 'echo ${TERM-none} ${PWD}'], { env: { TERM: 'xterm', PWD: undefined } })
  assert.match((await bytesOf(named.output)).toString(), /^xterm \/tmp\r\n$/)
})

test('C50 a program that is not there rejects, as do an empty argv and an aborted signal', async () => {
  await assert.rejects(world.terminal(['no-such-program']), { code: 'ENOENT', path: 'no-such-program' })
  await assert.rejects(world.terminal([]), /must contain a program/)
  await assert.rejects(world.terminal(['sh'], { signal: AbortSignal.abort('stop') }), reason => reason === 'stop')
})

test('C50 a size that no terminal has rejects and names what is wrong; without one it is 24 × 80', async () => {
  for (const bad of [NaN, Infinity, 0, 1.5, -1, 70_000, 2 ** 32 + 5, null, '24']) {
    for (const side of ['rows', 'cols']) {
      await assert.rejects(world.terminal(['true'], { [side]: bad }), { name: 'RangeError', message: `subprocess-local: a terminal has 1 to 65535 ${side}, not ${bad}` })
    }
  }
  const terminal = await world.terminal(['stty', 'size'], { rows: undefined, cols: undefined })
  assert.equal((await bytesOf(terminal.output)).toString(), '24 80\r\n')
})

test('C51 what is typed arrives, and all output before the end', async () => {
  const terminal = await world.terminal(['sh', '-c', 'stty -echo; echo ready; read line; echo "<$line>"; seq 1 50000'])
  const output = bytesOf(terminal.output)
  await waiting(terminal)
  await terminal.write('grüße\n')
  const text = (await within(output, PATIENCE_MS, 'its output')).toString()
  const numbers = Array.from({ length: 50_000 }, (_, index) => `${index + 1}\r\n`).join('')
  assert.ok(text.endsWith(`<grüße>\r\n${numbers}`), text.slice(0, 100))
  await assert.rejects(terminal.write('x'), /terminal process has exited/)
  await assert.rejects(terminal.signalForeground('SIGINT'), /cannot resolve foreground process group/)
})

test('C52 C53 the group in front is known, signalled alone, and the shell itself is not killed', async () => {
  const { terminal, shows } = await shell()
  assert.deepEqual(await terminal.inspectForeground(), { processGroupId: terminal.pid, inputWaiting: true })
  await terminal.write('sh -c "echo up; exec sleep 60"\r')
  await shows('\r\nup\r\n')
  const front = await terminal.inspectForeground()
  assert.equal(front.inputWaiting, false)
  assert.equal(await terminal.signalForeground('SIGINT'), front.processGroupId)
  await waiting(terminal)
  await assert.rejects(terminal.signalForeground('SIGKILL'), /refusing to SIGKILL the terminal shell/)
  await terminal.write('echo a$((1+1))b\r')
  await shows('a2b')
  await terminal.terminate()
})

test('C52 what a program wrote before it waits has come when it is seen waiting', async () => {
  // Each reader is a job of its own: a new group that waits has written its line, whatever was seen before.
  const jobs = 'set -m; for ((n = 0; ; n++)); do sh -c "stty -echo; echo job $n; read line"; done'
  const terminal = await world.terminal(['bash', '--norc', '--noprofile', '-c', jobs])
  let shown = ''
  terminal.output.on('data', chunk => { shown += chunk })
  let last
  let late = 0
  for (let round = 0; round < 200; round++) {
    let front
    do front = await within(terminal.inspectForeground(), PATIENCE_MS, 'who is in front')
    while (front?.inputWaiting !== true || front.processGroupId === last)
    if (!shown.includes(`job ${round}\r\n`)) late++
    last = front.processGroupId
    await terminal.write('\n')
  }
  await terminal.terminate()
  assert.equal(late, 0)
})

test('C52 a terminal that nobody reads is looked at all the same', async () => {
  const terminal = await world.terminal(['sh', '-c', 'stty -echo; yes & read line'])
  terminal.output.pause()
  await waiting(terminal)
  for (let count = 0; count < 5; count++) assert.equal((await within(terminal.inspectForeground(), PATIENCE_MS, 'an answer')).inputWaiting, true)
  await terminal.terminate()
})

test('C51 pastes of all sizes arrive in order, whichever way each takes', async () => {
  const terminal = await world.terminal(['sh', '-c', 'stty raw -echo; echo ready; sleep .1; exec cat'])
  let shown = ''
  terminal.output.on('data', chunk => { shown += chunk })
  await until(() => shown.includes('ready\n'), PATIENCE_MS, 'a program')
  const from = shown.length
  let typed = ''
  for (let round = 0; round < 400; round++) {
    const text = `${round}:${'x'.repeat(round % 7 === 0 ? 9000 : round % 5)};`
    typed += text
    const written = terminal.write(text)
    if (round % 3 === 0) await within(written, PATIENCE_MS, 'a paste')
    if (round % 10 === 0) await until(() => shown.length - from >= typed.length, PATIENCE_MS, 'what was typed')
  }
  await until(() => shown.length - from >= typed.length, PATIENCE_MS, 'all that was typed')
  assert.ok(shown.slice(from) === typed)
  await terminal.terminate()
})

test('C54 what a write did not tell to be typed is not typed after terminate', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'typed-'))
  const script = `import os,select,signal,tty
signal.pthread_sigmask(signal.SIG_BLOCK,[signal.SIGTERM]); tty.setraw(0); os.write(1,b"up"); signal.sigwait([signal.SIGTERM])
count=0
while select.select([0],[],[],1)[0]: count+=len(os.read(0,65536))
open("${folder}/count","w").write(str(count))`
  const terminal = await world.terminal(['python3', '-c', script], { graceMs: 2 * PATIENCE_MS })
  await within(new Promise(resolve => terminal.output.once('data', resolve)), PATIENCE_MS, 'a program')
  await terminal.write('told')
  const rejected = assert.rejects(terminal.write('x'.repeat(4_000_000)), /terminal is terminating/)
  await within(terminal.terminate(), PATIENCE_MS, 'the end')
  await rejected
  const count = Number(readFileSync(join(folder, 'count')))
  rmSync(folder, { recursive: true })
  assert.ok(count >= 4 && count < 100_000, `${count} bytes were typed`)
})

test('C54 C60 a terminal that goes with more typed than its program ever read holds nobody else up', async () => {
  const ends = { 'by terminate': terminal => terminal.terminate(), 'with its program': terminal => process.kill(terminal.pid, 'SIGKILL') }
  for (const [how, end] of Object.entries(ends)) {
    const one = await new World().load()
    const terminal = await one.terminal(['bash', '-c', 'stty raw -echo; (trap "" TERM HUP; sleep 500) & echo up; wait'], { graceMs: 200 })
    await within(new Promise(resolve => terminal.output.once('data', resolve)), PATIENCE_MS, 'a program')
    await within(terminal.write('x'.repeat(200_000)), PATIENCE_MS, `what is typed before an end ${how}`)
    await terminal.inspectForeground()
    await end(terminal)
    await within(terminal.done, PATIENCE_MS, `the end ${how}`)
    assert.equal((await one.run(['echo', how])).stdout, `${how}\n`)
    await one.dispose()
  }
})

test('C52 a client whose server reads the terminal in another session waits', async () => {
  const script = 'import os,select,socket\ns,t=socket.socketpair()\nif os.fork()==0:\n  os.setsid(); s.close(); e=select.epoll(); e.register(0,1); e.poll(); os._exit(0)\nt.close(); s.recv(1)'
  const terminal = await world.terminal(['python3', '-c', script])
  terminal.output.resume()
  await waiting(terminal)
  await terminal.terminate()
})

test('C57 another size is seen, a wrong one refused', async () => {
  const { terminal, shows } = await shell()
  terminal.resize(50, 132)
  await terminal.write('stty size\r')
  await shows('50 132')
  assert.throws(() => terminal.resize(0, 1), RangeError)
  await terminal.terminate()
})

test('C54 D26 terminate ends the session and who left it, then operations are refused', async () => {
  const { terminal, shown, shows } = await shell({ graceMs: 300 })
  await terminal.write('(trap "" TERM HUP; sleep 500) & sleep 501 & disown; (python3 -c "import os,time; os.setsid(); print(\'far\', os.getpid(), flush=True); time.sleep(500)" & wait) &\r')
  await shows('far ')
  const far = Number(await until(() => shown.text.match(/far (\d+)/)?.[1], PATIENCE_MS, 'who left'))
  assert.ok(isAlive(far))
  await within(terminal.terminate(), PATIENCE_MS, 'the end')
  assert.deepEqual([terminal.pid, far].filter(isAlive), [])
  assert.equal((await terminal.done).exitCode, null)
  await assert.rejects(terminal.write('x'), /terminal is terminating/)
  await assert.rejects(terminal.inspectForeground(), /terminal is terminating/)
})

test('C51 C72 the output ends with the program although others hold the terminal, and they are ended', async () => {
  const terminal = await world.terminal(['bash', '-c', 'trap "" HUP; (trap "" TERM HUP; sleep 500) & echo $!; exit 3'], { graceMs: 200 })
  const text = (await within(bytesOf(terminal.output), PATIENCE_MS, 'its output')).toString()
  assert.deepEqual(await terminal.done, { exitCode: 3, signal: null })
  await until(() => !isAlive(Number(text)), PATIENCE_MS, 'the end of who was left')
})

test('C56 a reader that pauses holds the program, and costs its window only', async () => {
  const before = process.memoryUsage().rss
  const terminal = await world.terminal(['head', '-c', '100000000', '/dev/zero'])
  await new Promise(resolve => terminal.output.once('readable', resolve))
  assert.ok(terminal.output.read(10).length === 10)
  assert.ok(isAlive(terminal.pid))
  let length = 10
  for await (const chunk of terminal.output) length += chunk.length
  assert.equal(length, 100_000_000)
  assert.ok(process.memoryUsage().rss - before < 64 << 20)
})

test('C52 C54 who asks again and again until the program is over always hears an answer', async () => {
  const round = async () => {
    const terminal = await world.terminal(['sh', '-c', 'echo hi; sleep 0.05'])
    terminal.output.resume()
    const asked = (async () => { while (await terminal.inspectForeground()); })()
    await within(terminal.done, PATIENCE_MS, 'the outcome')
    await within(asked.catch(() => {}), PATIENCE_MS, 'the last answer')
    await within(terminal.terminate(), PATIENCE_MS, 'the end')
  }
  for (let count = 0; count < 60; count += 1) await round()
})
