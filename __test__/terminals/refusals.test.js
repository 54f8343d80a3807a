/** What is refused before anything starts, and terminals that cannot start. */
import assert from 'node:assert/strict'
import { EXTENDED, matrix, open, refusal, untilTerminals, useWorld } from './world.js'

const world = useWorld()

matrix('C50 D13 an empty program is refused by a rejection, not by a throw', async () => {
  for (const argv of [[], ['']]) assert.match((await refusal(world, argv)).message, /must contain a program/)
})

matrix('C50 C10 a grace that no timer can wait for is refused', async () => {
  for (const graceMs of [0, -1, NaN, Infinity, 2 ** 31]) {
    assert.match((await refusal(world, ['true'], { graceMs })).message, /graceMs must be a positive finite number/, String(graceMs))
  }
})

matrix('C50 C13 words that the kernel would misread are refused', async () => {
  assert.match((await refusal(world, ['echo', 'a\0b'])).message, /NUL/)
  for (const env of [{ '': 'x' }, { 'A=B': 'x' }, { A: 'x\0y' }, { 'A\0': 'x' }]) {
    assert.ok(await refusal(world, ['true'], { env }) instanceof Error, JSON.stringify(env))
  }
})

matrix('C50 C19 a cwd that is not absolute counts from the home', async () => {
  for (const cwd of ['', '.', '~']) {
    const screen = await open(world, ['sh', '-c', 'pwd -P; cd && pwd -P'], { cwd })
    const [begun, home] = (await screen.bytes()).toString().split('\r\n')
    assert.equal(begun, home, JSON.stringify(cwd))
    await screen.close()
  }
})

matrix('C50 C21 a program that cannot start rejects like a spawn of Node', async () => {
  await world.run(['sh', '-c', 'touch plain; mkdir -p folder'])
  const cases = [
    [['no-such-program'], {}, 'ENOENT'],
    [['./no-such-program'], {}, 'ENOENT'],
    [['./plain'], {}, 'EACCES'],
    [['./folder'], {}, 'EACCES'],
    [['true', 'x'.repeat(9_000_000)], {}, 'E2BIG'],
    [['true'], { cwd: '/no/such/folder' }, 'ENOENT'],
    [['true'], { cwd: '/etc/hostname' }, 'ENOTDIR'],
  ]
  for (const [argv, spec, code] of cases) {
    const error = await refusal(world, argv, spec)
    assert.equal(error.code, code, argv[0])
    assert.equal(error.syscall, `spawn ${argv[0]}`)
    assert.equal(error.path, argv[0])
  }
})

matrix('C50 D14 after disposal began a terminal is refused', async () => {
  const other = await world.another()
  await other.endProvider()
  assert.match((await refusal(other, ['true'])).message, /service is disposing/)
  await other.composition.dispose()
})

matrix('C50 D11 what cannot start leaves no terminal behind (trap D11)', async () => {
  await untilTerminals(world, 0)
  const rounds = EXTENDED ? 300 : 40
  for (let round = 0; round < rounds; round += 10) {
    const errors = await Promise.all(Array.from({ length: 10 }, () => refusal(world, ['no-such-program'])))
    for (const { code } of errors) assert.equal(code, 'ENOENT')
  }
  await untilTerminals(world, 0)
  const screen = await open(world, ['tty'])
  assert.match((await screen.bytes()).toString(), /^\/dev\/pts\/\d+\r\n$/)
})

matrix('C50 C13 the environment is the ambient one with explicit changes, and the host gives nothing', async () => {
  process.env.HOST_ONLY_VARIABLE = 'secret'
  try {
    const env = { A_TOKEN: 'explicit', EMPTY: '', 'FOO-BAR': 'x=y\nz', HOME: undefined }
    const screen = await open(world, ['env', '-0'], { env })
    const entries = (await screen.bytes()).toString().replaceAll('\r\n', '\n').split('\0')
    for (const entry of ['A_TOKEN=explicit', 'EMPTY=', 'FOO-BAR=x=y\nz']) assert.ok(entries.includes(entry), entry)
    assert.ok(!entries.some(entry => /^(HOME|HOST_ONLY_VARIABLE|DSH_|E2B_API_KEY)/.test(entry)))
  } finally {
    delete process.env.HOST_ONLY_VARIABLE
  }
})

matrix('C50 arguments are exact, however strange, and cwd is where the program begins', async () => {
  const argv = ["a'b", '', '$HOME', '*', 'line\nline', '-n', '"', '\\', '😀', 'x'.repeat(100_000)]
  const screen = await open(world, ['python3', '-c', 'import sys,os,json; print(json.dumps([sys.argv[1:],os.getcwd()]))', ...argv], { cwd: '/usr/lib' })
  assert.deepEqual(JSON.parse((await screen.bytes()).toString()), [argv, '/usr/lib'])
})

matrix('C50 C60 a spec that is refused leaves nothing that a disposal would wait for', { timeout: 120_000 }, async () => {
  const other = await world.another()
  const { signal } = new AbortController()
  for (const spec of [{ rows: -1 }, { rows: 70_000 }, { env: { A: 5 } }]) {
    await refusal(other, ['true'], { ...spec, signal }).catch(() => {})
  }
  await other.endProvider()
  await other.composition.dispose()
  assert.deepEqual(other.errors, [])
})
