/** What terminals leave behind: no descriptor, no terminal, no listener, on neither side. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { EXTENDED, PATIENCE_MS, matrix, open, openShell, until, untilTerminals, useWorld } from './world.js'

const world = useWorld()
const ROUNDS = EXTENDED ? 600 : 60

/** Descriptors of the supervisor's processes, but those for the processes that wait for a program: how many wait changes with the load. */
async function supervisorDescriptors() {
  const listing = await world.witness('for p in $(pgrep -f "supervisor.* join .*"); do ls /proc/$p/fd 2>/dev/null | wc -l; done', { user: 'root' })
  const counts = listing.trim().split('\n').map(Number).filter(count => count > 0)
  // Who waits has the standard ones and its way to the supervisor, which has the other end and the process itself.
  const waiting = counts.filter(count => count <= 4).length
  return counts.filter(count => count > 4).reduce((sum, count) => sum + count, 0) - 2 * waiting
}

const hostDescriptors = () => readdirSync('/proc/self/fd').length

// https://github.com/stablyai/orca/issues/8362
matrix('C19 C50 no descriptor of a terminal reaches another program (trap D11)', async () => {
  const screens = await Promise.all([openShell(world), openShell(world)])
  const list = ['sh', '-c', 'ls /proc/$$/fd; true']
  const { stdout } = await world.run(list)
  assert.equal(stdout, '0\n1\n2\n')
  const third = await open(world, list)
  assert.equal((await third.bytes()).toString(), '0  1  2\r\n')
  await screens[0].ask('(cd /proc/$$/fd; for fd in $(ls); do echo "[$fd:$(readlink $fd)]"; done); echo all$((1))', '\r\nall1')
  const shown = [...screens[0].text.matchAll(/\[(\d+):([^\]$]+)\]/g)].map(([, number, target]) => [Number(number), target])
  // 255 is bash's own copy of its terminal.
  assert.deepEqual(shown.map(([number]) => number).filter(number => number !== 255), [0, 1, 2])
  assert.equal(new Set(shown.map(([, target]) => target)).size, 1)
  await Promise.all(screens.map(screen => screen.close()))
})

matrix('C54 opening and ending again and again leaves no descriptor and no terminal on either side (trap D11)', async t => {
  const round = async kind => {
    const screen = await open(world, kind === 0 ? ['true'] : ['cat'], { unread: kind === 2 })
    if (kind === 0) await screen.bytes()
    await screen.close()
  }
  for (let count = 0; count < 6; count++) await round(count % 3)
  await untilTerminals(world, 0)
  const before = { host: hostDescriptors(), box: await supervisorDescriptors() }
  for (let count = 0; count < ROUNDS; count += 6) await Promise.all([0, 1, 2, 0, 1, 2].map(round))
  await untilTerminals(world, 0)
  const grown = async () => ({ host: hostDescriptors() - before.host, box: await supervisorDescriptors() - before.box })
  // Some that wait may have been begun or taken between two looks.
  await until(async () => { const { host, box } = await grown(); return host <= 4 && box <= 16 }, PATIENCE_MS, 'the descriptors of before', 50)
  t.diagnostic(JSON.stringify(await grown()))
  assert.equal(world.subprocess.terminals.size, 0)
})

matrix('C54 the end of one terminal hangs up its own session and no other (trap D11)', async () => {
  const [first, second] = [await openShell(world), await openShell(world)]
  await first.type("bash -c 'trap \"echo hup >hup-seen; exit\" HUP TERM; echo up; while :; do sleep .02; done'\r")
  await first.shows('\r\nup\r\n')
  await first.close()
  assert.equal((await world.run(['cat', 'hup-seen'])).stdout, 'hup\n')
  await second.ask('echo a$((1+1))', '\r\na2\r\n')
  await second.close()
})
