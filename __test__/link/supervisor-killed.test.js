import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drain, gone, mark, says, settled, useLink } from './world.js'

const link = useLink()
const KILLED = { exitCode: null, signal: 'SIGKILL' }

/** The resident supervisor's two processes in the sandbox: the guardian, which init has adopted, and its child that works. */
async function resident(world) {
  const listing = await world.witness("for p in $(pgrep -f '[s]upervisor.* join '); do cut -d' ' -f1,4 /proc/$p/stat; done")
  const processes = listing.trim().split('\n').map(line => line.split(' ').map(Number))
  const isOurs = pid => processes.some(([other]) => other === pid)
  const parents = new Set(processes.map(([, parent]) => parent))
  const [guardian] = processes.find(([pid, parent]) => !isOurs(parent) && parents.has(pid)) ?? []
  const [worker] = processes.find(([pid, parent]) => parent === guardian && parents.has(pid)) ?? []
  assert.ok(guardian > 1 && worker > 1, `no supervisor in:\n${listing}`)
  return { guardian, worker }
}

for (const [who, kill] of [
  ['guardian', async world => world.witness(`kill -9 ${(await resident(world)).guardian}`)],
  ['worker', async world => world.witness(`kill -9 ${(await resident(world)).worker}`)],
  ['everything of its user, by a command of ours', world => world.spawn(['bash', '-c', 'kill -9 -1']).done],
]) {
  test(`C35 when the supervisor is killed (${who}), nothing is left running, commands end as killed, and the next one works`, { timeout: 90_000 }, async () => {
    const world = await link.open()
    const sleep = mark()
    const handles = [
      world.spawn(['bash', '-c', `sleep ${sleep} & echo up; wait`]),
      world.spawn(['bash', '-c', `setsid sleep ${sleep} & echo up; sleep ${sleep}`], { stdout: 'pipe' }),
    ]
    const output = drain(handles[1].stdout)
    await says(handles[0], /up/)
    await world.untilSleepers(sleep, 3)
    await kill(world)
    for (const handle of handles) {
      assert.deepEqual(await settled(handle), KILLED)
      assert.equal(await gone(handle), true)
    }
    assert.equal(String(await output), 'up\n')
    assert.equal((await world.sh('echo next')).stdout, 'next\n')
    await world.untilSleepers(sleep, 0)
  })
}
