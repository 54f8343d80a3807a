import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drain, end, says, settled, useLink } from './world.js'

const link = useLink()
const path = '/process.Process/StreamInput'
const SECRET = 'c5a1d9-very-secret-value'

const WAYS = [
  ...[404, 405, 415, 501].map(status => [`answers ${status}`, { refuse: status }]),
  ['takes it and never answers', { swallow: true }],
  ['keeps its body until it is complete', { buffer: true }],
]

/** Whatever form the daemon writes its log in: the text itself, or in base64 at any alignment. */
function isVisible(bodies, secret) {
  const bytes = Buffer.concat(bodies)
  const texts = [bytes.toString('latin1'), ...[0, 1, 2].map(skip => bytes.subarray(skip).toString('latin1'))]
  const inBase64 = [0, 1, 2].map(skip => Buffer.from('\0'.repeat(skip) + secret).toString('base64').slice(skip === 0 ? 0 : 4, -4))
  return texts.some(text => text.includes(secret) || inBase64.some(form => text.includes(form)))
}

for (const [way, rule] of WAYS) {
  test(`C13 C63 where the way for input ${way}, commands run by single requests that show no secret`, { timeout: 90_000 }, async () => {
    const world = await link.open({}, { rules: [{ path, ...rule }], warm: false })
    const handle = world.spawn(['sh', '-c', 'cat; printf %s "$API_TOKEN"; exit 4'], { stdin: 'pipe', stdout: 'pipe', env: { API_TOKEN: SECRET } })
    const output = drain(handle.stdout)
    const input = Buffer.alloc(700_000, `${SECRET}-input\n`)
    handle.stdin.end(input)
    assert.equal(Buffer.compare(await output, Buffer.concat([input, Buffer.from(SECRET)])), 0)
    assert.deepEqual(await settled(handle), { exitCode: 4, signal: null })
    const single = world.proxy.requests.filter(({ path: at }) => at === '/process.Process/SendInput')
    assert.ok(single.length > 0, 'no single request was made')
    assert.ok(!isVisible(world.proxy.requests.flatMap(({ body }) => body), SECRET), 'a request shows the secret')
    assert.ok(!link.server.log().includes(SECRET), 'the log of the server shows the secret')
  })
}

test('C13 the check for secrets finds one that is there, plain or in base64', () => {
  assert.ok(isVisible([Buffer.from(`x${SECRET}y`)], SECRET))
  for (const before of ['', 'a', 'ab', 'abc']) {
    assert.ok(isVisible([Buffer.from(`{"stdin":"${Buffer.from(`${before}${SECRET}z`).toString('base64')}"}`)], SECRET), before)
  }
})

test('C20 single requests go on from where they were when connections are cut', { timeout: 90_000 }, async () => {
  const world = await link.open({}, { rules: [{ path, refuse: 404 }] })
  world.proxy.bytes = { cutAfterMs: 150, random: true }
  const handle = world.spawn(['cat'], { stdin: 'pipe' })
  for (let i = 0; i < 10; i++) {
    handle.stdin.write(`line ${i}\n`)
    await says(handle, new RegExp(`line ${i}\n$`))
  }
  handle.stdin.end()
  assert.deepEqual(await settled(handle), { exitCode: 0, signal: null })
  assert.equal(handle.collected.stdout.readFrom(0).text, Array.from({ length: 10 }, (_, i) => `line ${i}\n`).join(''))
})

test('one broken connection between two words is not taken for a server without the way for input', async () => {
  const world = await link.open()
  world.proxy.rules = [{ path, refuse: 502, times: 1 }]
  world.proxy.cut()
  await world.run(['true'])
  world.heal()
  world.proxy.cut()
  const before = world.proxy.requests.length
  await world.run(['true'])
  const later = world.proxy.requests.slice(before).map(({ path: at }) => at)
  assert.ok(later.includes(path), `only ${later}`)
  const handle = world.spawn(['cat'], { stdin: 'pipe' })
  handle.stdin.write('x\n')
  await says(handle, /x/)
  assert.ok(!world.proxy.requests.slice(before).some(({ path: at }) => at.endsWith('/SendInput')), 'still by single requests')
  await end(handle)
})
