import assert from 'node:assert/strict'
import { readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { within } from '../support/deadline.js'
import { PATIENCE_MS, bytesOf, useWorld } from './support.js'

const world = useWorld()

test('C70 the process id is there at once and leads its own session and group', async () => {
  const handle = world.spawn(['sleep', '60'])
  assert.ok(handle.pid > 0)
  const stat = readFileSync(`/proc/${handle.pid}/stat`, 'latin1')
  const [, parent, group, session] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  assert.deepEqual([parent, group, session].map(Number), [process.pid, handle.pid, handle.pid])
  handle.terminate()
  await within(handle.done, PATIENCE_MS, 'the end')
})

test('C20 exit codes and signals are told as they are', async () => {
  const facts = async line => {
    const { exitCode, signal } = await world.sh(line)
    return [exitCode, signal]
  }
  assert.deepEqual(await facts('exit 0'), [0, null])
  assert.deepEqual(await facts('exit 143'), [143, null])
  assert.deepEqual(await facts('exit 255'), [255, null])
  assert.deepEqual(await facts('kill -9 $$'), [null, 'SIGKILL'])
  assert.deepEqual(await facts('kill -SEGV $$'), [null, 'SIGSEGV'])
})

test('C21 a program that is not there, not executable or in no directory is Node\'s own error, and the id is -1 at once', async () => {
  const failed = async (argv, options) => {
    const handle = world.spawn(argv, options)
    assert.equal(handle.pid, -1)
    const error = await within(handle.done, PATIENCE_MS, 'the failure').then(() => assert.fail('it started'), error => error)
    assert.equal(await handle.waitForExit(), true)
    const { code, syscall, path, message } = error
    return { code, syscall, path, message }
  }
  const expected = (code, program) => ({ code, syscall: `spawn ${program}`, path: program, message: `spawn ${program} ${code}` })
  assert.deepEqual(await failed(['no-such-program']), expected('ENOENT', 'no-such-program'))
  assert.deepEqual(await failed(['/etc/passwd']), expected('EACCES', '/etc/passwd'))
  assert.deepEqual(await failed(['true'], { cwd: '/no/such/directory' }), expected('ENOENT', 'true'))
  const streams = world.spawn(['no-such-program'], { stdin: 'pipe', stdout: 'pipe' })
  assert.equal((await within(bytesOf(streams.stdout), PATIENCE_MS, 'the end of its output')).length, 0)
})

test('C19 the program gets descriptors 0 to 2 only, default signals, an empty mask and the harness\' umask', async () => {
  const { stdout } = await world.sh('ls /proc/self/fd; grep -E "Sig(Blk|Ign|Cgt)" /proc/self/status; umask')
  const [numbers, rest] = [stdout.match(/^\d+$/gm), stdout]
  // The fourth is the directory that `ls` itself reads.
  assert.deepEqual(numbers.slice(0, 4), ['0', '1', '2', '3'])
  assert.ok(!rest.includes('\n4\n'))
  for (const name of ['SigBlk', 'SigIgn']) assert.match(rest, new RegExp(`${name}:\\s0+$`, 'm'))
  assert.equal(Number.parseInt(rest.trim().split('\n').at(-1), 8), process.umask())
})

test('C19 a bare name is found on the command\'s own PATH, a script without a first line runs, NUL is refused', async () => {
  const made = await world.sh('d=$(mktemp -d); printf "echo by $0" > $d/tool-of-mine; chmod +x $d/tool-of-mine; printf %s $d')
  const found = await world.run(['tool-of-mine'], { env: { PATH: `relative:${made.stdout}` } })
  assert.match(found.stdout, /^by .*tool-of-mine|^by sh/)
  assert.throws(() => world.spawn(['echo', 'a\0b']), { code: 'ERR_INVALID_ARG_VALUE' })
  assert.throws(() => world.spawn(['true'], { env: { 'A=B': '1' } }), { code: 'ERR_INVALID_ARG_VALUE' })
})

test('D23 input that is given is a socket, none is a character device', async () => {
  assert.equal((await world.sh('test -S /dev/stdin && cat', { stdin: { data: 'héllo' } })).stdout, 'héllo')
  assert.equal((await world.sh('test -c /dev/stdin && echo none')).stdout, 'none\n')
})

test('C14 bytes written arrive in order, the end is an end, and a program that takes none is EPIPE', async () => {
  const echo = world.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' })
  const everything = bytesOf(echo.stdout)
  const data = Buffer.alloc(3 << 20, 'abcdefg')
  echo.stdin.write(data.subarray(0, 1000))
  echo.stdin.end(data.subarray(1000))
  assert.ok((await within(everything, PATIENCE_MS, 'the echo')).equals(data))
  const deaf = world.spawn(['sh', '-c', 'exec 0<&-; echo closed; sleep 60'], { stdin: 'pipe', stdout: 'pipe' })
  await new Promise(resolve => deaf.stdout.once('data', resolve))
  const failure = new Promise(resolve => deaf.stdin.once('error', resolve))
  const write = () => { if (!deaf.stdin.destroyed) deaf.stdin.write('x', () => setImmediate(write)) }
  write()
  assert.equal((await within(failure, PATIENCE_MS, 'EPIPE')).code, 'EPIPE')
  deaf.terminate()
  await deaf.done
})

test('C14 data is a text or the bytes of any view, and nothing is an end at once', async () => {
  const bytes = new Uint16Array([0x4141, 0x4242])
  for (const [stdin, expected] of [
    [{}, ''], [{ data: undefined }, ''], [{ data: null }, ''], [{ data: 'aé' }, 'aé'], [{ data: bytes }, 'AABB'], [{ data: new DataView(bytes.buffer, 1, 2) }, 'AB'],
  ]) {
    assert.equal((await world.run(['cat'], { stdin })).stdout, expected)
  }
})

test('C10 C14 a spec of wrong types throws at once, names what is wrong and not its value, and starts nothing', () => {
  const mark = `600.${process.pid}`
  const children = () => readFileSync(`/proc/self/task/${process.pid}/children`, 'latin1').trim().split(' ')
    .filter(pid => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark))
  // Earlier ones may end meanwhile.
  const earlier = new Set(world.subprocess.live)
  for (const [options, message] of [
    ...[null, undefined, 'inherit'].map(stdin => [{ stdio: { stdin, stdout: 'pipe', stderr: 'pipe' } }, /^stdio\.stdin must be /]),
    ...[{ length: 3 }, new ArrayBuffer(3), 90210777].map(data => [{ stdin: { data } }, /^stdio\.stdin\.data must be /]),
    [{ stdout: null }, /^stdio\.stdout must be /],
    [{ env: { DB_PASSWORD: 90210777 } }, /^the environment entry "DB_PASSWORD" must be a string or undefined$/],
    [{ argv: ['sleep', mark, { secret: 90210777 }] }, /^argv\[2\] must be a string$/],
  ]) {
    assert.throws(() => world.spawn(['sleep', mark], options), error => {
      assert.deepEqual([error.name, error.code], ['TypeError', 'ERR_INVALID_ARG_TYPE'], error.message)
      assert.match(error.message, message)
      assert.doesNotMatch(error.stack, /90210777/)
      return true
    })
    assert.deepEqual(children(), [])
    assert.ok([...world.subprocess.live].every(handle => earlier.has(handle)))
  }
})

test('C19 without a working directory, or with an empty one, it is the harness\' own', async () => {
  for (const cwd of [undefined, '']) assert.equal((await world.run(['pwd', '-P'], { cwd })).stdout.trim(), process.cwd())
})

test('C19 PATH is searched as execvp does: an empty one is the working directory, an entry that is too long none at all', async () => {
  const { stdout: directory } = await world.sh('d=$(mktemp -d); printf "exit 9" > $d/tool-of-mine; chmod +x $d/tool-of-mine; printf %s $d')
  const run = async (PATH, cwd = '/') => (await world.run(['tool-of-mine'], { cwd, env: { PATH } })).exitCode
  assert.equal(await run('', directory), 9)
  await assert.rejects(run(''), { code: 'ENOENT' })
  await assert.rejects(world.subprocess.resolveExecutable('tool-of-mine', { PATH: '' }), /was not found on PATH/)
  assert.equal(await run(`/${'p'.repeat(5000)}:${directory}`), 9)
  await assert.rejects(world.run(['n'.repeat(256)]), { code: 'ENAMETOOLONG', path: 'n'.repeat(256) })
})

test('C14 megabytes that a program ignores are no error', async () => {
  const { exitCode } = await world.sh('exit 7', { stdin: { data: 'x'.repeat(8 << 20) } })
  assert.equal(exitCode, 7)
})

test('C64 a thousand commands, failed ones and terminals leave no descriptor behind', async () => {
  const descriptors = () => readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`).replace(/\d+/g, 'N')]
    } catch {
      return []
    }
  }).filter(target => /pipe|socket|pidfd|ptmx/.test(target)).length
  const burst = async () => {
    await Promise.all(Array.from({ length: 50 }, (_, index) => world.run(['true'], { stdin: index % 2 ? 'ignore' : { data: 'x' } })))
    for (let index = 0; index < 50; index++) await world.spawn(['/no/such']).done.catch(() => {})
    for (let index = 0; index < 5; index++) {
      const terminal = await world.terminal(['true'])
      await bytesOf(terminal.output)
      await terminal.done
      await terminal.terminate()
    }
  }
  await burst()
  const before = descriptors()
  for (let round = 0; round < 10; round++) await burst()
  const end = performance.now() + PATIENCE_MS
  while (descriptors() > before && performance.now() < end) await new Promise(go => setTimeout(go, 20))
  assert.ok(descriptors() <= before, `${descriptors()} instead of ${before}`)
})

const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission'
for (const [granted, expected] of [
  [[], '["ERR_ACCESS_DENIED ChildProcess","ERR_ACCESS_DENIED ChildProcess"]'],
  [['--allow-child-process'], '[0,0]'],
]) {
  test(`C70 what Node's permissions ${granted.length === 0 ? 'deny' : 'allow'} is ${granted.length === 0 ? 'refused' : 'done'}`, async () => {
    const fixture = fileURLToPath(new URL('fixtures/permission.mjs', import.meta.url))
    const flags = [PERMISSION, '--allow-fs-read=*', '--allow-fs-write=*', '--allow-addons', ...granted]
    const { stdout, stderr } = await world.run([process.execPath, ...flags, fixture])
    assert.equal(stdout, expected, stderr)
  })
}
