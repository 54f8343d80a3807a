import assert from 'node:assert/strict'
import { test } from 'node:test'
import { end, says, settled, useLink } from './world.js'

const link = useLink()
const START = '/process.Process/Start'

for (const lose of ['rst', 'silence', 503]) {
  test(`C20 a command runs once when the answer to the first start is lost by ${lose} (trap H10)`, { timeout: 90_000 }, async () => {
    const world = await link.open({ silenceMs: 2_000 }, { rules: [{ path: START, lose, times: 2 }], warm: false })
    await world.sh('echo x >> once')
    assert.equal(await world.witness('cat once'), 'x\n')
  })

  test(`C20 a command runs once when the answer to a later start is lost by ${lose} (trap H10)`, { timeout: 90_000 }, async () => {
    const world = await link.open({ silenceMs: 700 })
    world.proxy.rules = [{ path: START, lose, times: 3 }]
    const handle = world.spawn(['sh', '-c', 'echo x >> count; cat >> bytes; exit 6'], { stdin: 'pipe' })
    world.proxy.cut()
    for (let i = 0; i < 5; i++) handle.stdin.write('12345')
    handle.stdin.end()
    assert.deepEqual(await settled(handle), { exitCode: 6, signal: null })
    assert.equal(await world.witness('cat count bytes'), `x\n${'12345'.repeat(5)}`)
  })

  test(`C14 C30 input and signals by single requests arrive once when their answers are lost by ${lose} (trap H10)`, { timeout: 90_000 }, async () => {
    const world = await link.open({ silenceMs: 500 }, { rules: [{ path: '/process.Process/StreamInput', refuse: 404 }] })
    const [refuse] = [{ path: '/process.Process/StreamInput', refuse: 404 }]
    const handle = world.spawn(['bash', '-c', 'trap "echo term >> terms" TERM; echo x >> count; while read line; do echo $line >> lines; echo $line; done; exit 8'], { stdin: 'pipe', graceMs: 20_000 })
    for (let i = 0; i < 3; i++) {
      world.proxy.rules = [{ path: '/process.Process/SendInput', lose, times: 1 }, refuse]
      handle.stdin.write(`line${i}\n`)
      await says(handle, new RegExp(`line${i}`))
    }
    world.proxy.rules = [{ path: '/process.Process/SendInput', lose, times: 1 }, refuse]
    handle.terminate()
    handle.stdin.end()
    assert.deepEqual(await settled(handle), { exitCode: 8, signal: null })
    assert.equal(await world.witness('cat count lines terms'), 'x\nline0\nline1\nline2\nterm\n')
  })
}

test('C20 a server that kills what a client left behind ends only the joiner', async () => {
  const world = await link.open()
  const handle = world.spawn(['sh', '-c', 'echo $$ > pid; while read l; do echo $l; done; exit 5'], { stdin: 'pipe' })
  handle.stdin.write('one\n')
  await says(handle, /one/)
  for (let round = 0; round < 3; round++) {
    const { joiners } = await world.supervisor()
    assert.equal(await world.witness(`kill -9 ${joiners.join(' ')} && echo killed`), 'killed\n')
    handle.stdin.write(`round${round}\n`)
    await says(handle, new RegExp(`round${round}`))
  }
  handle.stdin.end()
  assert.deepEqual(await settled(handle), { exitCode: 5, signal: null })
  assert.equal(handle.collected.stdout.readFrom(0).text, 'one\nround0\nround1\nround2\n')
})

test('C30 a start that is called off while nothing passes leaves nothing running', async () => {
  const world = await link.open({ silenceMs: 600 })
  world.proxy.bytes = { frozen: true }
  world.proxy.freeze()
  const handle = world.spawn(['sh', '-c', 'echo x >> ran; sleep 600'], { graceMs: 300 })
  setTimeout(() => { world.proxy.bytes = {} }, 1_000)
  handle.terminate()
  const outcome = await settled(handle)
  assert.equal(outcome.exitCode, null)
  assert.match(outcome.signal, /^SIG(TERM|KILL)$/)
  assert.equal(await handle.waitForExit(), true)
  assert.equal((await world.witness('pgrep -fx "sleep 600"')), '')
  await end(handle)
})
