import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { within } from '../support/deadline.js'
import { MODES, openMode } from '../support/fault-proxy.js'
import { startServer } from '../support/server.js'

const SCRIPT = fileURLToPath(new URL('../support/fault-proxy.js', import.meta.url))
let server
before(async () => { server = await startServer() })
after(() => server.stop())

/** What `GET /health` of the control plane's port gives through a mode: a status, or the name of the failure. */
async function health(mode, values, { wait = 3000 } = {}) {
  const proxy = await openMode(server.apiUrl, mode, values)
  try {
    const answer = await fetch(`${proxy.url}/sandboxes/none`, { headers: { 'X-API-KEY': server.apiKey }, signal: AbortSignal.timeout(wait) })
    await answer.text()
    return answer.status
  } catch (error) {
    return error.name === 'TimeoutError' ? 'silence' : error.cause?.code ?? error.message
  } finally {
    await proxy.close()
  }
}

const path = '/sandboxes'
for (const [mode, values, expected] of [
  ['none', {}, 404],
  ['trickle', {}, 404],
  ['delay', { ms: 20 }, 404],
  ['throttle', { bytes: 10_000 }, 404],
  ['refuse', { path, status: 405 }, 405],
  ['buffer', { path }, 404],
  ['swallow', { path }, 'silence'],
  ['half-open', { ms: 0 }, 'silence'],
  ['lose', { path }, /RESET|SOCKET/],
  ['cut-every', { ms: 0 }, /RESET|SOCKET/],
  ['fin-every', { ms: 0 }, /SOCKET/],
]) {
  test(`by mode ${mode} a request meets ${expected}`, async () => {
    const met = await health(mode, values, { wait: expected === 'silence' ? 400 : 10_000 })
    if (expected instanceof RegExp) assert.match(String(met), expected)
    else assert.equal(met, expected)
  })
}

test('an unknown mode is refused with the list of the known ones', async () => {
  await assert.rejects(openMode(server.apiUrl, 'nothing'), new RegExp(Object.keys(MODES)[1]))
})

test('started by hand it prints its address, works, and ends with its standard input', async () => {
  const child = spawn(process.execPath, [SCRIPT, '--target', server.apiUrl, '--mode', 'refuse', '--path', '/x', '--status', '501'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = new Promise(resolve => child.once('exit', resolve))
  const line = await within(new Promise(resolve => createInterface(child.stdout).once('line', resolve)), 10_000, 'the line of JSON')
  const { url } = JSON.parse(line)
  assert.equal((await fetch(`${url}/x`)).status, 501)
  child.stdin.end()
  assert.equal(await within(exit, 10_000, 'its end'), 0)
})
