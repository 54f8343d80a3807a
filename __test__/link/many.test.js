import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { PATIENCE_MS, drain, end, gone, settled, useLink } from './world.js'
import { until, within } from '../support/deadline.js'

const link = useLink()
const MIB = 1024 * 1024
const descriptors = () => readdirSync('/proc/self/fd').length

async function timed(work) {
  const start = performance.now()
  await work()
  return performance.now() - start
}

async function median(times, work) {
  const taken = []
  for (let i = 0; i < times; i++) taken.push(await timed(work))
  return taken.sort((a, b) => a - b)[times >> 1]
}

test('C18 a thousand running commands cost no requests, no descriptors and little memory, and hardly slow the next one down', { timeout: 240_000 }, async t => {
  const world = await link.open()
  const alone = await median(7, () => world.run(['true']))
  globalThis.gc?.()
  const memory = process.memoryUsage.rss()
  const open = descriptors()
  const handles = Array.from({ length: 1_000 }, () => world.spawn(['sleep', '900'], { stdout: { maxBytes: 65_536 } }))
  await until(async () => Number(await world.witness('pgrep -fxc "sleep 900"')) === 1_000, 120_000, 'a thousand sleepers', 300)
  const each = (process.memoryUsage.rss() - memory) / handles.length
  const before = world.proxy.requests.length
  const beside = await median(7, () => world.run(['true']))
  await new Promise(resolve => setTimeout(resolve, 1_000))
  t.diagnostic(`a short command: ${alone.toFixed(1)} ms alone, ${beside.toFixed(1)} ms beside 1,000; host memory ${(each / 1024).toFixed(1)} KiB a command`)
  assert.equal(world.proxy.requests.length, before)
  assert.ok(descriptors() <= open + 2, `${open} descriptors became ${descriptors()}`)
  assert.ok(each < 64 * 1024, `${each} bytes a command`)
  // The bench measures it; here other tests run beside it.
  assert.ok(beside < alone * 3 + 20, `${alone} ms became ${beside} ms`)
  for (const handle of handles) handle.terminate()
  await Promise.all(handles.map(handle => settled(handle, 'a sleeper', 60_000)))
})

test('C15 twenty unread outputs hold neither a short command nor a terminal up, and bounded memory (trap H9)', { timeout: 90_000 }, async () => {
  const world = await link.open()
  const memory = process.memoryUsage.rss()
  const unread = Array.from({ length: 20 }, () => world.spawn(['head', '-c', '10000000', '/dev/zero'], { stdout: 'pipe' }))
  const { stdout } = await within(world.run(['echo', 'hi']), 5_000, 'echo')
  assert.equal(stdout, 'hi\n')
  const terminal = await within(world.subprocess.spawnTerminal({ argv: ['cat'], cwd: world.cwd, graceMs: 1_000, rows: 24, cols: 80 }), 5_000, 'a terminal')
  let shown = ''
  terminal.output.setEncoding('utf8').on('data', part => { shown += part })
  await terminal.write('x\r')
  await until(() => shown.includes('x'), 5_000, 'its echo')
  await terminal.terminate()
  // A quarter of a MiB and a window of 64 KiB to 4 MiB each, of 64 MiB in all.
  assert.ok(process.memoryUsage.rss() - memory < 120 * MIB, `${(process.memoryUsage.rss() - memory) / MIB} MiB`)
  const outputs = await Promise.all(unread.map(handle => drain(handle.stdout)))
  assert.ok(outputs.every(output => output.length === 10_000_000))
})

test('C64 five hundred commands whose output nobody reads leave no request and no descriptor behind (trap H12)', { timeout: 120_000 }, async () => {
  const world = await link.open()
  const open = descriptors()
  const { underWay } = world.proxy
  for (let round = 0; round < 5; round++) {
    const handles = Array.from({ length: 100 }, (_, i) => world.spawn(['sh', '-c', 'head -c 100000 /dev/zero; sleep 900'], { stdout: i % 2 ? 'pipe' : { maxBytes: 10 }, graceMs: 1_000 }))
    await Promise.all(handles.map(handle => end(handle)))
  }
  await until(() => world.proxy.underWay <= underWay && descriptors() <= open + 2, PATIENCE_MS, `the former state: ${underWay} requests, ${open} descriptors`)
  assert.equal(Number(await world.witness('pgrep -fxc "sleep 900"')), 0)
})

test('C14 one command that does not read its input holds no other up', { timeout: 90_000 }, async () => {
  const world = await link.open()
  const deaf = world.spawn(['sleep', '900'], { stdin: 'pipe', graceMs: 500 })
  let accepted = 0
  while (deaf.stdin.write(Buffer.alloc(MIB)) && accepted < 64) accepted++
  assert.ok(accepted < 64, 'no backpressure')
  const heard = world.spawn(['sha256sum'], { stdin: { data: Buffer.alloc(8 * MIB) } })
  assert.deepEqual(await settled(heard), { exitCode: 0, signal: null })
  assert.ok((await timed(() => world.run(['true']))) < 5_000)
  await end(deaf)
  assert.equal(await gone(deaf), true)
})
