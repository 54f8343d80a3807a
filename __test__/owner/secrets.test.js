import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { within } from '../support/deadline.js'
import { openControl, PATIENCE_MS, refusal, useServer } from './support.js'

const server = await useServer()
const fixture = fileURLToPath(new URL('fixtures/show.js', import.meta.url))

/** Runs the fixture and gives all that it printed, and the access token of its sandbox. */
async function shown(environment) {
  const child = fork(fixture, { env: { ...process.env, DSH_SUBPROCESS_LOG: 'trace', ...environment }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let text = ''
  let token
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', part => { text += part })
  child.on('message', message => { token = message })
  const code = await within(new Promise(resolve => child.once('close', resolve)), PATIENCE_MS, 'the end of the fixture')
  assert.equal(code, 0, text.slice(-2000))
  assert.match(text, /^through$/m)
  assert.match(text, /TRACE|DEBUG/, 'the log was on')
  return { text, token }
}

test('C63 neither the key nor the token is in an inspection, JSON or the whole log of a sandbox\' life', async () => {
  const { text, token } = await shown({})
  assert.ok(token.length > 8)
  assert.ok(!text.includes(server.apiKey), around(text, server.apiKey))
  assert.ok(!text.includes(token), around(text, token))
})

for (const [what, answer] of [
  ['refuses', key => refusal(401, { message: `key ${key} is unknown` })],
  ['fails', key => refusal(500, { message: `cannot place ${key}`, error_code: `code-${key}` })],
  ['answers nonsense with a token', () => ({ status: 201, body: '{"sandboxID":1,"envdAccessToken":"ea-secret-token"}' })],
]) {
  test(`C63 a control plane that ${what} gets no secret into an error or the log`, async () => {
    const control = await openControl(server.apiUrl, async ({ headers }) => answer(headers['x-api-key']))
    const { text } = await shown({ E2B_API_URL: control.url })
    assert.ok(!text.includes(server.apiKey), around(text, server.apiKey))
    assert.ok(!text.includes('ea-secret-token'), around(text, 'ea-secret-token'))
  })
}

function around(text, secret) {
  const at = text.indexOf(secret)
  return `…${text.slice(Math.max(0, at - 300), at)}[HERE]${text.slice(at + secret.length, at + secret.length + 100)}…`
}
