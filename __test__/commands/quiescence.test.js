import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXTENDED, composeAt, end, gone, matrix, says, settled, unless, useWorld } from './world.js'
import { hook } from './hook.js'
import { recordRequests } from './recorder.js'

const world = useWorld()
const skip = unless('sandboxd')

/** Requests of `body` to the sandbox, by route. */
async function counted(body) {
  const { sandboxId } = await world.composition.sandbox()
  const admin = hook(world.server)
  const before = await admin.requests(sandboxId)
  await body(sandboxId)
  const after = await admin.requests(sandboxId)
  return Object.fromEntries(Object.entries(after).map(([route, n]) => [route, n - (before[route] ?? 0)]).filter(([, n]) => n !== 0))
}

matrix('C31 a running command is watched without a request', { skip }, async () => {
  const handle = world.spawn(['sh', '-c', 'echo up; read go; exit 3'], { stdin: 'pipe' })
  await says(handle, /up/)
  const waiting = handle.waitForExit()
  assert.deepEqual(await counted(() => new Promise(go => setTimeout(go, 1_000))), {})
  handle.stdin.end('\n')
  assert.deepEqual(await settled(handle), { exitCode: 3, signal: null })
  assert.equal(await waiting, true)
})

matrix('C31 a hundred and fifty running commands are watched without a request', { skip, timeout: 90_000 }, async () => {
  const handles = Array.from({ length: 150 }, () => world.spawn(['sh', '-c', 'read go'], { stdin: 'pipe' }))
  const waiting = Promise.all(handles.map(handle => handle.waitForExit()))
  await world.untilWitness('pgrep -xc sh', '150')
  assert.deepEqual(await counted(() => new Promise(go => setTimeout(go, 500))), {})
  for (const handle of handles) handle.stdin.end('\n')
  await waiting
  await Promise.all(handles.map(handle => settled(handle)))
})

matrix('C31 a short command with everything that is asked of it costs no request', { skip }, async () => {
  const requests = await counted(async () => {
    for (let at = 0; at < 10; at += 1) {
      const handle = world.spawn(['sh', '-c', 'cat; echo err >&2; exit 2'], { stdin: { data: 'input' } })
      assert.deepEqual(await settled(handle), { exitCode: 2, signal: null })
      assert.equal(await gone(handle), true)
      handle.terminate()
    }
    await world.subprocess.resolveExecutable('sh')
    await end(world.spawn(['sleep', '300']))
  })
  assert.deepEqual(requests, {})
})

test('control: the count sees a request when somebody makes one', { skip }, async () => {
  const requests = await counted(() => world.witness('true'))
  assert.deepEqual(Object.values(requests), [1])
})

matrix('C31 the end of a tree is known without delay', async () => {
  const times = []
  const usual = []
  for (let at = 0; at < (EXTENDED ? 200 : 20); at += 1) {
    const handle = world.spawn(['bash', '-c', '(read go < /dev/fd/0; exit 0) & wait; exit 0'], { stdin: 'pipe' })
    const begun = performance.now()
    await world.run(['true'])
    const before = performance.now()
    usual.push(before - begun)
    handle.stdin.end('\n')
    assert.equal(await gone(handle), true)
    times.push(performance.now() - before)
    await settled(handle)
  }
  const median = values => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]
  // Whatever the machine does beside it: about what another command costs from its start to its end.
  assert.ok(median(times) < 4 * median(usual) + 100, `median ${median(times)} ms, of a command ${median(usual)} ms`)
})

// https://github.com/e2b-dev/infra/pull/480
test('C20 no request carries a time limit that would end a program (traps C9, C10)', { skip: skip || unless('native'), timeout: 90_000 }, async () => {
  const recorder = await recordRequests(world.server.sandboxUrl)
  const composition = await composeAt({ ...world.server, sandboxUrl: recorder.url })
  try {
    const handle = composition.subprocess.spawn({ argv: ['true'], cwd: composition.cwd, graceMs: 1000, stdio: { stdin: 'ignore', stdout: { maxBytes: 1 }, stderr: { maxBytes: 1 } } })
    assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
    const streams = recorder.requests.filter(({ url, headers }) => /\/process\.Process\/(Start|Connect|StreamInput)/.test(url) && !/^e2b-js-sdk|node/i.test(headers['user-agent'] ?? ''))
    assert.ok(streams.length >= 2, `streams of ours: ${recorder.requests.map(({ url }) => url)}`)
    for (const { url, headers } of streams) assert.equal(headers['connect-timeout-ms'], undefined, url)
    const byTheSdk = recorder.requests.filter(({ headers }) => headers['connect-timeout-ms'] !== undefined)
    assert.ok(byTheSdk.length > 0, 'control: the vendor\'s SDK sends one, and it is seen here')
  } finally {
    await composition.dispose()
    await recorder.close()
  }
})
