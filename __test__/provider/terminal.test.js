import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { PATIENCE_MS, bytesOf, useWorld } from './support.js'

const world = useWorld()
const open = (argv, options = {}) => within(
  world.subprocess.spawnTerminal({ argv, cwd: world.cwd, rows: 40, cols: 120, graceMs: 1000, ...options }),
  PATIENCE_MS,
  'a terminal',
)

/** What a terminal shows, as it comes. */
function watch(terminal) {
  const seen = { text: '' }
  terminal.output.on('data', chunk => { seen.text += chunk })
  return seen
}

test('C50 D1 the size is there from the first moment, and nothing comes before the program\'s own bytes', async () => {
  for (let round = 0; round < 20; round++) {
    const terminal = await open(['stty', 'size'])
    assert.ok(terminal.pid > 1)
    assert.equal((await within(bytesOf(terminal.output), PATIENCE_MS, 'its output')).toString(), '40 120\r\n')
    assert.deepEqual(await within(terminal.done, PATIENCE_MS, 'its outcome'), { exitCode: 0, signal: null })
  }
})

test('A2 A4 the last page of a program that ends at once arrives', async () => {
  for (let round = 0; round < 20; round++) {
    const terminal = await open(['/bin/echo', '-n', 'hello'.repeat(4096)])
    assert.equal((await within(bytesOf(terminal.output), PATIENCE_MS, 'its output')).length, 20_480)
  }
})

test('C50 arguments and environment are exact', async () => {
  const terminal = await open(['sh', '-c', 'printf "%s|" "$@" "$FOO" "$-"; tty >/dev/null && echo tty', 'sh', "a'b", '', '你好'], { env: { FOO: '"x"\n' } })
  const text = (await within(bytesOf(terminal.output), PATIENCE_MS, 'its output')).toString()
  assert.ok(text.startsWith("a'b||你好|\"x\"\r\n|"), text)
  assert.ok(text.endsWith('tty\r\n'))
})

test('C51 what is typed arrives as UTF-8; after the exit nothing can be typed', async () => {
  const terminal = await open(['cat'])
  const seen = watch(terminal)
  await terminal.write('žluť\n')
  await until(() => seen.text === 'žluť\r\nžluť\r\n', PATIENCE_MS, 'the echo and the answer')
  await terminal.write('\x04')
  assert.deepEqual(await within(terminal.done, PATIENCE_MS, 'its outcome'), { exitCode: 0, signal: null })
  await assert.rejects(terminal.write('late'), /terminal process has exited/)
  assert.equal(await terminal.inspectForeground(), undefined)
  await assert.rejects(terminal.signalForeground('SIGINT'), /cannot resolve foreground process group/)
})

test('C52 C53 the foreground group is seen, seen waiting, and can be interrupted (trap D7)', async () => {
  const terminal = await open(['bash', '--norc', '--noprofile', '-i'])
  const seen = watch(terminal)
  await until(async () => (await terminal.inspectForeground())?.inputWaiting, PATIENCE_MS, 'a waiting shell')
  assert.equal((await terminal.inspectForeground()).processGroupId, terminal.pid)
  await assert.rejects(terminal.signalForeground('SIGKILL'), /refusing to SIGKILL the terminal shell/)
  await terminal.write('sleep 600\n')
  const group = await until(async () => {
    const foreground = await terminal.inspectForeground()
    return foreground.processGroupId !== terminal.pid && foreground
  }, PATIENCE_MS, 'the sleeper in front')
  assert.equal(group.inputWaiting, false)
  // Until then it is the shell still, which minds no signal.
  await until(async () => (await world.sh(`cat /proc/${group.processGroupId}/comm`)).stdout === 'sleep\n', PATIENCE_MS, 'the program')
  assert.equal(await terminal.signalForeground('SIGINT'), group.processGroupId)
  await until(async () => (await terminal.inspectForeground())?.inputWaiting, PATIENCE_MS, 'the shell again')
  await terminal.write('echo code $?\n')
  await until(() => seen.text.includes('code 130\r\n'), PATIENCE_MS, 'the code')
  await within(terminal.terminate(), PATIENCE_MS, 'its end')
})

test('C54 D26 terminate ends every group of the session, disowned and stubborn ones too', async () => {
  const terminal = await open(['bash', '--norc', '-i'], { graceMs: 300 })
  const seen = watch(terminal)
  await terminal.write("sh -c 'trap \"\" TERM HUP; sleep 600' & disown; echo PID-$!-\n")
  const pid = await until(() => /PID-(\d+)-\r/.exec(seen.text)?.[1], PATIENCE_MS, 'a pid')
  const write = terminal.terminate()
  await assert.rejects(terminal.write('x'), /terminal is terminating/)
  await assert.rejects(terminal.inspectForeground(), /terminal is terminating/)
  await within(write, PATIENCE_MS, 'its end')
  await terminal.terminate()
  const { stdout } = await world.sh(`kill -0 ${pid} 2>/dev/null || echo gone`)
  assert.equal(stdout, 'gone\n')
})

test('C50 C21 a program that is not there rejects as a spawn of Node does', async () => {
  await assert.rejects(open(['no-such-program']), { code: 'ENOENT', path: 'no-such-program' })
  await assert.rejects(open(['a\0b']), /NUL/)
  await assert.rejects(open([]), /must contain a program/)
  await assert.rejects(open(['true'], { graceMs: 0 }), /graceMs must be a positive finite number/)
})

test('D13 C55 an aborted signal rejects with its reason, unwrapped, and leaves nothing', async () => {
  await assert.rejects(open(['true'], { signal: AbortSignal.abort('early') }), reason => reason === 'early')
  const controller = new AbortController()
  const opening = open(['sleep', '4242'], { signal: controller.signal })
  controller.abort('meanwhile')
  await assert.rejects(opening, reason => reason === 'meanwhile')
  const { stdout } = await world.sh("ps -e -o args= | grep -c '^sleep 424[2]'")
  assert.equal(stdout, '0\n')
  const published = new AbortController()
  const terminal = await open(['cat'], { signal: published.signal })
  published.abort('late')
  const seen = watch(terminal)
  await terminal.write('still here\n')
  await until(() => seen.text.includes('still here'), PATIENCE_MS, 'the echo')
  await within(terminal.terminate(), PATIENCE_MS, 'its end')
})

test('D4 of the traps: a large paste before anybody reads arrives whole', async () => {
  const terminal = await open(['sh', '-c', 'stty raw -echo; echo ready; sleep 0.5; head -c 65536 | sha256sum'])
  const seen = watch(terminal)
  await until(() => seen.text.includes('ready'), PATIENCE_MS, 'raw mode')
  await within(terminal.write('paste me '.repeat(8192).slice(0, 65_536)), PATIENCE_MS, 'the paste')
  await within(terminal.done, PATIENCE_MS, 'the outcome')
  const { createHash } = await import('node:crypto')
  const expected = createHash('sha256').update('paste me '.repeat(8192).slice(0, 65_536)).digest('hex')
  await until(() => seen.text.includes(expected), PATIENCE_MS, 'the right hash')
})

test('C57 the size can be changed', async () => {
  const terminal = await open(['bash', '-c', 'trap "stty size" WINCH; echo ready; while :; do sleep 0.05; done'])
  const seen = watch(terminal)
  await until(() => seen.text.includes('ready'), PATIENCE_MS, 'its trap')
  terminal.resize(11, 22)
  await until(() => seen.text.includes('11 22'), PATIENCE_MS, 'the new size')
  assert.throws(() => terminal.resize(0, 1), RangeError)
  await within(terminal.terminate(), PATIENCE_MS, 'its end')
})

test('D5 C56 a terminal that nobody reads or that reads nothing leaves others alone', async () => {
  const flooding = await open(['yes'])
  const deaf = await open(['sh', '-c', 'stty raw -echo; exec sleep 600'])
  const stuck = deaf.write('x'.repeat(4_000_000))
  stuck.catch(() => {})
  const other = await open(['cat'])
  const seen = watch(other)
  for (let round = 0; round < 10; round++) await other.write(`${round}\n`)
  await until(() => seen.text.includes('9\r\n'), PATIENCE_MS, 'the echo')
  await within(deaf.terminate(), PATIENCE_MS, 'the end of the deaf one')
  await assert.rejects(within(stuck, PATIENCE_MS, 'the stuck write'))
  await within(flooding.terminate(), PATIENCE_MS, 'the end of the flood')
  await within(other.terminate(), PATIENCE_MS, 'the end of the other')
})
