import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SHARE_ENV, Worker } from 'node:worker_threads'
import { within } from '../support/deadline.js'
import { PATIENCE_MS, useWorld } from './support.js'

const world = useWorld()
const variables = async (env, options) => {
  const { stdout } = await world.run(['env', '-0'], { env, ...options })
  return Object.fromEntries(stdout.split('\0').filter(Boolean).map(entry => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]))
}

test('C13 the base is process.env as it is at the call, without what looks like a secret', async () => {
  const added = { PLAIN_OF_MINE: 'grüße', DSH_OF_MINE: '1', toh_of_mine: '1', My_Api_Key: '1', PASSWORD_OF_MINE: '1', SECRETIVE: '1', A_TOKEN: '1' }
  Object.assign(process.env, added)
  try {
    const seen = await variables()
    assert.equal(seen.PLAIN_OF_MINE, 'grüße')
    assert.equal(seen.PATH, process.env.PATH)
    for (const name of Object.keys(added).slice(1)) assert.equal(seen[name], undefined, name)
    process.env.PLAIN_OF_MINE = 'changed'
    assert.equal((await variables()).PLAIN_OF_MINE, 'changed')
    delete process.env.PLAIN_OF_MINE
    assert.equal((await variables()).PLAIN_OF_MINE, undefined)
  } finally {
    for (const name of Object.keys(added)) delete process.env[name]
  }
})

test('C13 explicit entries are set whatever their name, undefined removes', async () => {
  process.env.AMBIENT_OF_MINE = 'here'
  try {
    const seen = await variables({ A_TOKEN: 'explicit', DSH_SHELL: '1', 'FOO-BAR': 'x', EMPTY: '', AMBIENT_OF_MINE: undefined })
    assert.deepEqual([seen.A_TOKEN, seen.DSH_SHELL, seen['FOO-BAR'], seen.EMPTY, seen.AMBIENT_OF_MINE], ['explicit', '1', 'x', '', undefined])
  } finally {
    delete process.env.AMBIENT_OF_MINE
  }
})

test('C13 a process.env that was replaced counts as it is', async () => {
  const own = process.env
  process.env = { PATH: own.PATH, REPLACED: 'yes', A_SECRET: 'no' }
  try {
    assert.deepEqual(await variables(), { PATH: own.PATH, REPLACED: 'yes' })
  } finally {
    process.env = own
  }
})

test('C13 a worker\'s own process.env counts in the worker', async () => {
  const worker = new Worker(new URL('fixtures/worker.mjs', import.meta.url))
  const [text] = await within(Promise.all([
    new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject)),
    new Promise(resolve => worker.once('exit', resolve)),
  ]), PATIENCE_MS, 'the worker')
  assert.equal(text, 'worker\n')
  assert.equal(process.env.ONLY_HERE, undefined)
})

test('D12 executables are found as the original finds them', async () => {
  const { subprocess } = world
  assert.equal(await subprocess.resolveExecutable('/bin/sh'), '/bin/sh')
  assert.equal(await subprocess.resolveExecutable('sh', { PATH: '/nowhere:/bin' }), '/bin/sh')
  assert.equal(await subprocess.resolveExecutable('/bin/sh', null, null), '/bin/sh')
  assert.match(await subprocess.resolveExecutable('sh', null, null), /\/sh$/)
  const cwd = process.cwd()
  process.chdir('/')
  try {
    assert.equal(await subprocess.resolveExecutable('sh', { PATH: 'bin' }), '/bin/sh')
  } finally {
    process.chdir(cwd)
  }
  const refused = (command, env, message) => assert.rejects(subprocess.resolveExecutable(command, env), { message: new RegExp(message) })
  await refused('', undefined, 'must be non-empty')
  await refused('./sh', undefined, 'is a relative path')
  await refused('sh', { PATH: '' }, 'was not found on PATH')
  await refused('/etc', undefined, 'is not an executable file')
  await refused('/etc/passwd', undefined, 'is not an executable file')
  await assert.rejects(subprocess.resolveExecutable('/bin/sh', {}, AbortSignal.abort('stop')), reason => reason === 'stop')
})

for (const when of ['earlier', 'later', 'together']) {
  test(`C13 C70 a worker that shares process.env, began ${when} and changes it meanwhile harms no start`, { timeout: 60_000 }, async () => {
    const fixture = fileURLToPath(new URL('fixtures/shared-environment.mjs', import.meta.url))
    const { exitCode, signal, stdout } = await world.run([process.execPath, fixture, when])
    assert.deepEqual({ exitCode, signal, stdout }, { exitCode: 0, signal: null, stdout: '{"wrong":0}' })
  })
}

test('C13 D23 a variable that a worker sets in the environment that it shares counts from then on', async () => {
  const worker = new Worker('process.env.SET_BY_A_WORKER = "yes"', { eval: true, env: SHARE_ENV })
  await within(new Promise((resolve, reject) => worker.once('exit', resolve).once('error', reject)), PATIENCE_MS, 'the worker')
  try {
    assert.equal((await variables()).SET_BY_A_WORKER, 'yes')
  } finally {
    delete process.env.SET_BY_A_WORKER
  }
})

test('C13 a variable that is no text reaches a program as it is, or, where a worker may share the environment, as process.env has it', async () => {
  const node = JSON.stringify(process.execPath)
  const fixture = JSON.stringify(fileURLToPath(new URL('fixtures/print-variable.mjs', import.meta.url)))
  for (const [options, bytes] of [['', '61ff62'], ['--import node:worker_threads', '61efbfbd62']]) {
    const { stdout } = await world.run(['bash', '-c', `ODD_OF_MINE=$'a\\xffb' exec ${node} ${options} ${fixture} ODD_OF_MINE`])
    assert.equal(stdout, JSON.stringify({ own: 'a\ufffdb', program: 'a\ufffdb', bytes }))
  }
})

test('C13 a replaced process.env that no program can have is refused', () => {
  const own = process.env
  process.env = { PATH: own.PATH, REPLACED: 'a\0B=b' }
  try {
    assert.throws(() => world.spawn(['true']), { code: 'ERR_INVALID_ARG_VALUE', message: /NUL-free values/ })
  } finally {
    process.env = own
  }
})
