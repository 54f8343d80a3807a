/** What consumers do with streams and handles as Node's own have them. */
import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { runHarness } from './harness.js'
import { PATIENCE_MS, matrix, rejection, settled, useWorld } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()

matrix('C15 C20 whoever reads a raw stream has had all of it when the outcome is told', { timeout: 120_000 }, async () => {
  const readers = {
    'a loop': async (stream, had) => { for await (const part of stream.setEncoding('utf8')) had(part) },
    'a listener': (stream, had) => { stream.setEncoding('utf8').on('data', had) },
    'a web stream': async (stream, had) => { had(await new Response(Readable.toWeb(stream)).text()) },
    'a slow loop': async (stream, had) => {
      for await (const part of stream.setEncoding('utf8')) {
        had(part)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    },
  }
  for (const [name, read] of Object.entries(readers)) {
    for (let round = 0; round < 10; round += 1) {
      const handle = world.spawn(['sh', '-c', 'seq 1 20000; echo last'], { stdout: 'pipe', graceMs: 20_000 })
      let all = ''
      void read(handle.stdout, part => { all += part })
      await settled(handle)
      assert.ok(all.endsWith('20000\nlast\n'), `${name} had ${all.length} characters at the outcome`)
    }
  }
})

matrix('C20 C23 what a consumer\'s listener throws keeps nobody from their news', { timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    const errors = []
    process.on('uncaughtException', error => { errors.push(error.message) })
    const outcomes = []
    for (let round = 0; round < 5; round += 1) {
      const own = world.spawn(['sh', '-c', 'echo a; sleep 0.1; echo b'], { stdout: 'pipe' })
      own.stdout.on('data', () => { throw new Error('the consumer\'s own') })
      const others = Array.from({ length: 4 }, () => world.spawn(['sh', '-c', 'echo c'], { stdout: 'pipe' }))
      for (const { stdout } of others) stdout.resume()
      for (const handle of [own, ...others]) outcomes.push((await lib.settled(handle)).exitCode)
    }
    process.stdout.write(JSON.stringify({ outcomes: [...new Set(outcomes)], errors: [...new Set(errors)] }))
    await world.composition.dispose()
  })
  assert.equal(code, 0, stderr)
  assert.deepEqual(JSON.parse(stdout), { outcomes: [0], errors: ['the consumer\'s own'] })
})

matrix('C1 D20 listeners run in the asynchronous context of the spawn, and methods work without their handle', async () => {
  const storage = new AsyncLocalStorage()
  const seen = []
  const handle = storage.run('turn', () => {
    const started = world.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' })
    started.stdout.on('data', () => seen.push(storage.getStore())).on('end', () => seen.push(storage.getStore()))
    return started
  })
  handle.stdin.end('x')
  await settled(handle)
  assert.deepEqual(seen, ['turn', 'turn'])
  const { terminate, waitForExit } = world.spawn(['sleep', '300'])
  setTimeout(terminate, 1)
  assert.equal(await within(waitForExit(), PATIENCE_MS, 'the end'), true)
})

matrix('C14 D20 an input closes with its program, and with one that never began', async () => {
  for (const argv of [['sh', '-c', 'exit 4'], ['/no/such/program']]) {
    const handle = world.spawn(argv, { stdin: 'pipe' })
    const piped = pipeline(new PassThrough(), handle.stdin)
    const error = await within(rejection(piped), PATIENCE_MS, 'the end of the pipeline')
    assert.equal(error.code, 'ERR_STREAM_PREMATURE_CLOSE', argv.join(' '))
    assert.ok(handle.stdin.destroyed)
    const late = once(handle.stdin, 'error')
    handle.stdin.write('nobody reads this')
    const [{ code }] = await within(late, PATIENCE_MS, 'the error of a late write')
    assert.equal(code, 'EPIPE')
  }
})
