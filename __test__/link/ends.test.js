import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EXTENDED, PATIENCE_MS, settled, text, useLink } from './world.js'
import { until } from '../support/deadline.js'

const link = useLink()
const COUNTER = 'for i in $(seq 40); do echo $i; sleep .03; done; exit 9'
const ALL = Array.from({ length: 40 }, (_, i) => `${i + 1}\n`).join('')

for (const [how, rule] of [
  ['with its connection in order', { end: 'fin' }],
  ['with a reset', { end: 'rst' }],
  ['as if it were complete, without the end message', { end: 'clean' }],
  ['with an end message but no exit', { end: 'frame' }],
]) {
  test(`C20 an output that ends early ${how} is no exit: the command goes on and has its own code (traps C4, H4)`, async () => {
    // It breaks again and again, whatever the command has said by then; not for ever, or a slow machine would never get through.
    const world = await link.open({}, { rules: [{ path: '/process.Process/Start', afterMs: 250, times: 4, ...rule }], warm: false })
    const { exitCode, signal, stdout } = await world.sh(COUNTER)
    assert.deepEqual([exitCode, signal, stdout], [9, null, ALL])
    const joins = world.proxy.requests.filter(({ path }) => path === '/process.Process/Start').length
    assert.ok(joins >= 4, `${joins} joins`)
  })
}

test('C20 a connection that breaks around the exit loses neither the outcome nor the last bytes, and nothing follows it (trap C12)', { timeout: 300_000 }, async () => {
  const world = await link.open()
  const wrong = []
  const late = []
  for (let i = 0; i < (EXTENDED ? 2000 : 150); i++) {
    const handle = world.spawn(['bash', '-c', 'printf "\\xe2\\x82"; exit 3'], { stdout: 'pipe' })
    const bytes = []
    let isSettled = false
    handle.stdout.on('data', chunk => bytes.push(chunk)).on('end', () => { if (isSettled) late.push('end') })
    const timer = setTimeout(() => world.proxy.cut(i % 2 ? 'rst' : 'fin'), Math.random() * 5)
    const outcome = await settled(handle)
    isSettled = true
    clearTimeout(timer)
    const hex = Buffer.concat(bytes).toString('hex')
    // A raw stream is complete in the addon when the outcome is known; its reader takes it when it wants to.
    if (outcome.exitCode !== 3 || outcome.signal !== null || !['e282', ''].includes(hex)) wrong.push({ i, outcome, hex })
  }
  assert.deepEqual(wrong, [])
})

test('C24 a reset at any moment is a lost connection, not a lost sandbox, while the control plane knows the sandbox (trap H4)', async () => {
  const world = await link.open()
  const handle = world.spawn(['sh', '-c', COUNTER])
  for (let cuts = 0; cuts < 6; cuts++) {
    const seen = text(handle).length
    await until(() => text(handle).length > seen, PATIENCE_MS, 'the command to be heard again')
    world.proxy.cut()
  }
  assert.deepEqual(await settled(handle), { exitCode: 9, signal: null })
  assert.equal(text(handle), ALL)
})
