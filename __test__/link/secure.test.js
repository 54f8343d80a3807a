import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openConnectProxy } from '../support/fault-proxy-connect.js'
import { openFaultProxy } from '../support/fault-proxy.js'
import { TLS_HOST, makeCertificates } from '../support/fault-proxy-tls.js'
import { serverEnvironment, startServer } from '../support/server.js'

const CLIENT = fileURLToPath(new URL('./fixtures/client.js', import.meta.url))
const run = promisify(execFile)
const NUMBERS = Array.from({ length: 50 }, (_, i) => `${i + 1}\n`).join('')
let server
let tls
before(async () => {
  tls = makeCertificates()
  server = await startServer()
})
after(() => server.stop())

/** Runs the client with a way to the sandbox; gives what it printed. */
async function client(proxy, { count = 1, ms = 500, env = {} } = {}) {
  const { PATH, HOME } = process.env
  const { stdout, stderr } = await run(process.execPath, [CLIENT, String(count), String(ms)], {
    timeout: 60_000,
    env: { PATH, HOME, NODE_EXTRA_CA_CERTS: tls.caFile, ...serverEnvironment({ ...server, sandboxUrl: proxy.url }), ...env },
  })
  return { ...JSON.parse(stdout), stderr }
}

function assertRight({ results, wrong, errors, stderr }, count = 1) {
  assert.deepEqual(errors, [])
  assert.equal(stderr, '')
  assert.deepEqual(wrong, [])
  assert.deepEqual(results, Array.from({ length: count }, () => ({ exitCode: 9, signal: null, text: NUMBERS })))
}

const versions = proxy => new Set(proxy.requests.filter(({ path }) => path.startsWith('/process.')).map(({ httpVersion }) => httpVersion))

test('C62 a server with a certificate of a private authority is reached by HTTP/2 when that authority is named, and is not otherwise', { timeout: 120_000 }, async () => {
  const proxy = await openFaultProxy(server.sandboxUrl, { tls })
  try {
    assertRight(await client(proxy))
    assert.deepEqual([...versions(proxy)], ['2.0'])
    await assert.rejects(client(proxy, { env: { NODE_EXTRA_CA_CERTS: '' } }), /certificate/i)
  } finally {
    await proxy.close()
  }
})

test('C62 a server that speaks HTTP/1.1 alone is spoken to by that', { timeout: 120_000 }, async () => {
  const proxy = await openFaultProxy(server.sandboxUrl, { tls, protocols: ['http/1.1'] })
  try {
    assertRight(await client(proxy))
    assert.deepEqual([...versions(proxy)], ['1.1'])
  } finally {
    await proxy.close()
  }
})

test('C20 a server that asks for new connections all the time finishes what runs and answers what is new (trap H7)', { timeout: 120_000 }, async () => {
  const proxy = await openFaultProxy(server.sandboxUrl, { tls })
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, proxy.connections)
    proxy.goAway()
  }, 300)
  try {
    const said = await client(proxy, { count: 10, ms: 5_000 })
    assertRight(said, 10)
    assert.ok(said.shorts > 10)
    assert.ok(most > 0 && most <= 12, `${most} connections`)
  } finally {
    clearInterval(timer)
    await proxy.close()
  }
})

test('C62 a sandbox behind a proxy with credentials is reached through it, and a server on this machine without it (trap H13)', { timeout: 120_000 }, async () => {
  const proxy = await openFaultProxy(server.sandboxUrl, { tls, host: TLS_HOST })
  const way = await openConnectProxy({ user: 'someone', password: 's3cret', names: { [TLS_HOST]: '127.0.0.1' } })
  try {
    assertRight(await client(proxy, { env: { HTTPS_PROXY: way.url } }))
    assert.ok(way.tunnels.length > 0)
    // The control plane is on this machine.
    assert.deepEqual([...new Set(way.tunnels)], [new URL(proxy.url).host])
    const refusal = await client(proxy, { env: { HTTPS_PROXY: way.bareUrl } }).catch(error => error)
    assert.ok(refusal instanceof Error)
    assert.ok(way.refused > 0)
    assert.doesNotMatch(String(refusal.stderr), /s3cret/)
    const tunnels = way.tunnels.length
    const direct = await client(proxy, { env: { HTTPS_PROXY: way.url, NO_PROXY: TLS_HOST } }).catch(error => error)
    assert.ok(direct instanceof Error, 'the name resolves nowhere')
    assert.equal(way.tunnels.length, tunnels)
  } finally {
    way.close()
    await proxy.close()
  }
})
