import assert from 'node:assert/strict'
import { test } from 'node:test'
import { within } from '../support/deadline.js'
import { PATIENCE_MS, useWorld } from './support.js'

const world = useWorld()

test('C10 a spec that cannot be meant throws at once', () => {
  assert.throws(() => world.spawn([]), /invalid argv: expected a non-empty program name at argv\[0\]/)
  assert.throws(() => world.spawn(['']), /invalid argv: expected a non-empty program name at argv\[0\]/)
  for (const graceMs of [0, -1, NaN, Infinity, 2 ** 31]) {
    assert.throws(() => world.spawn(['true'], { graceMs }), /subprocess graceMs must be a positive finite number no greater than 2147483647/)
  }
  assert.throws(() => world.spawn(['true'], { signal: AbortSignal.abort('why') }), /aborted before spawn: why/)
  assert.throws(() => world.spawn(['true'], { signal: { aborted: true } }), /aborted before spawn: aborted/)
})

test('C11 a pid is positive when spawn returns, and it is the id of the program, its session and its group', async () => {
  await world.run(['true'])
  const handle = world.spawn(['sh', '-c', 'echo $$; cut -d" " -f5,6 /proc/$$/stat'])
  const { pid } = handle
  assert.ok(pid > 1, `pid ${pid}`)
  await within(handle.done, PATIENCE_MS, 'the command')
  assert.equal(handle.collected.stdout.readFrom(0).text, `${pid}\n${pid} ${pid}\n`)
  assert.equal(handle.pid, pid)
})

test('C20 a normal exit gives its code, exit code 143 included', async () => {
  for (const code of [0, 1, 7, 126, 127, 137, 143, 255]) {
    const { exitCode, signal } = await world.sh(`exit ${code}`)
    assert.deepEqual({ exitCode, signal }, { exitCode: code, signal: null })
  }
})

test('C20 a death by signal gives its name, whoever sent it', async () => {
  for (const name of ['SIGTERM', 'SIGKILL', 'SIGSEGV', 'SIGUSR1', 'SIGPIPE']) {
    const { exitCode, signal } = await world.sh(`kill -${name.slice(3)} $$`)
    assert.deepEqual({ exitCode, signal }, { exitCode: null, signal: name })
  }
})

test('C21 a program that is not there, or not executable, rejects as a spawn of Node does', async () => {
  for (const [program, code] of [['no-such-program', 'ENOENT'], ['/no/such', 'ENOENT'], ['/etc/passwd', 'EACCES']]) {
    const handle = world.spawn([program, 'argument'], { stdout: 'pipe' })
    handle.stdout.resume()
    const ended = new Promise(resolve => handle.stdout.once('end', resolve))
    const error = await within(handle.done.then(() => assert.fail('it ran'), error => error), PATIENCE_MS, program)
    assert.equal(error.code, code)
    assert.equal(error.syscall, `spawn ${program}`)
    assert.equal(error.path, program)
    assert.equal(error.message, `spawn ${program} ${code}`)
    assert.equal(handle.pid, -1)
    assert.equal(await handle.waitForExit(), true)
    await within(ended, PATIENCE_MS, 'the end of its output')
  }
})

test('C21 D11 a bad working directory rejects with ENOENT and the program as path', async () => {
  const handle = world.spawn(['true'], { cwd: '/no/such/directory' })
  await assert.rejects(handle.done, { code: 'ENOENT', syscall: 'spawn true', path: 'true' })
  assert.equal(await handle.waitForExit(), true)
})

test('C13 C19 words that hold NUL, and impossible names, are refused before anything starts', async () => {
  for (const spec of [
    { argv: ['printf', 'a\0b'] },
    { argv: ['true'], env: { 'A=B': 'x' } },
    { argv: ['true'], env: { '': 'x' } },
    { argv: ['true'], env: { A: 'x\0y' } },
  ]) {
    const handle = world.spawn(spec.argv, { env: spec.env })
    await assert.rejects(handle.done, { code: 'ERR_INVALID_ARG_VALUE' })
    assert.equal(handle.pid, -1)
    assert.equal(await handle.waitForExit(), true)
  }
})

test('C23 nobody has to look at a rejection', async () => {
  const seen = []
  const listener = reason => { seen.push(reason) }
  process.on('unhandledRejection', listener)
  const handle = world.spawn(['no-such-program'])
  await within(handle.waitForExit(), PATIENCE_MS, 'its end')
  await new Promise(resolve => setImmediate(resolve))
  process.removeListener('unhandledRejection', listener)
  assert.deepEqual(seen, [])
})

test('F1 arguments are as long as a local program\'s may be, and longer ones are refused with E2BIG', async () => {
  const many = await world.run(['sh', '-c', 'echo $#', 'sh', ...Array.from({ length: 1000 }, () => 'x'.repeat(1000))])
  assert.equal(many.stdout, '1000\n')
  const longest = await world.run(['sh', '-c', 'echo ${#1}', 'sh', 'x'.repeat(131_071)])
  assert.equal(longest.stdout, '131071\n')
  await assert.rejects(world.run(['true', 'x'.repeat(131_072)]), { code: 'E2BIG' })
})

test('a thousand commands in a row and two hundred at once all end as they should', async () => {
  const codes = await Promise.all(Array.from({ length: 200 }, async (_, index) => (await world.sh(`exit ${index}`)).exitCode))
  assert.deepEqual(codes, codes.map((_, index) => index))
  for (let round = 0; round < 1000; round++) {
    const { exitCode } = await world.run(['true'])
    assert.equal(exitCode, 0)
  }
})
