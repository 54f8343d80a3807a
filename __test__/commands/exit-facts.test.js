import assert from 'node:assert/strict'
import { EXTENDED, end, forAll, gone, matrix, settled, useWorld, PATIENCE_MS } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()

matrix('C20 every exit code from 0 to 255 is told exactly and as no signal', { timeout: 240_000 }, async () => {
  await forAll(Array.from({ length: 256 }, (_, code) => code), async code => {
    const { exitCode, signal } = await world.sh(`exit ${code}`)
    assert.deepEqual({ exitCode, signal }, { exitCode: code, signal: null })
  })
})

matrix('C20 exit code 128 plus a number stays an exit code', async () => {
  for (const code of [129, 130, 137, 139, 141, 143, 192]) {
    const { exitCode, signal } = await world.sh(`exit ${code}`)
    assert.deepEqual({ exitCode, signal }, { exitCode: code, signal: null })
  }
})

// https://github.com/TencentCloud/CubeSandbox/pull/390
matrix('C20 the exit code is apart from output without a final newline (trap A13)', async () => {
  const { exitCode, stdout } = await world.sh('printf abc; exit 5')
  assert.deepEqual({ exitCode, stdout }, { exitCode: 5, stdout: 'abc' })
})

// https://github.com/LnYo-Cly/ai4j/pull/142
matrix('C20 exit code 0 with no output at all is exit code 0 (trap C3)', async () => {
  for (const argv of [['true'], ['sh', '-c', 'exit 0']]) {
    assert.deepEqual(await world.run(argv), { exitCode: 0, signal: null, stdout: '', stderr: '' })
  }
})

// https://github.com/BitterSecurity/Decepticon/pull/340
matrix('C20 two hundred commands keep their own codes while orphans are reaped (trap C7)', { timeout: 120_000 }, async () => {
  await forAll(Array.from({ length: EXTENDED ? 1000 : 200 }, (_, at) => at), async at => {
    const script = at % 2 === 0 ? 'exit 3' : '(sleep 0.05 &) ; exit 3'
    const { exitCode } = await world.sh(script)
    assert.equal(exitCode, 3)
  })
  const zombies = await within((async () => {
    for (;;) {
      const count = Number(await world.witness('grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l'))
      if (count === 0) return count
    }
  })(), PATIENCE_MS, 'the last zombie')
  assert.equal(zombies, 0)
})

// https://github.com/e2b-dev/infra/pull/1981
matrix('C20 a command that closes its stdio lives on until it exits (trap C6)', async () => {
  const handle = world.spawn(['bash', '-c', 'echo done; exec 0<&- 1>&- 2>&-; sleep 0.5; exit 7'], { stdout: 'pipe', stderr: 'pipe' })
  const order = []
  handle.stdout.on('end', () => order.push('end')).resume()
  handle.stderr.resume()
  handle.done.then(() => order.push('done'))
  assert.deepEqual(await settled(handle), { exitCode: 7, signal: null })
  assert.deepEqual(order, ['end', 'done'])
})

matrix('C20 done resolves once and gives the same to all who ask', async () => {
  const handle = world.spawn(['sh', '-c', 'exit 4'])
  const [first, second] = await Promise.all([settled(handle), settled(handle)])
  assert.equal(first, second)
  assert.equal(await settled(handle), first)
  handle.terminate()
  assert.deepEqual(await settled(handle), { exitCode: 4, signal: null })
  assert.equal(await gone(handle), true)
})

// https://github.com/e2b-dev/E2B/issues/1074, https://github.com/rivet-dev/sandbox-agent/issues/152
matrix('C20 nothing ends a command by a time limit of its own (traps C9, K1)', { timeout: EXTENDED ? 200_000 : 60_000 }, async () => {
  const handle = world.spawn(['sleep', EXTENDED ? '130' : '3'])
  assert.deepEqual(await settled(handle, 'sleep', 150_000), { exitCode: 0, signal: null })
})

matrix('C20 a program whose main thread left first exits with the code of the last', async () => {
  const script = 'import ctypes,threading,time,os\ndef last():\n  time.sleep(.3)\n  os._exit(9)\nthreading.Thread(target=last).start()\nctypes.CDLL(None).pthread_exit(None)'
  const handle = world.spawn(['python3', '-c', script])
  const outcome = await settled(handle)
  assert.deepEqual(outcome, { exitCode: 9, signal: null }, handle.collected.stderr.readFrom(0).text)
  assert.equal(await gone(handle), true)
  await end(handle)
})
