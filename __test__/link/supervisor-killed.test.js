import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drain, gone, mark, says, settled, useLink } from './world.js'

const link = useLink()
const KILLED = { exitCode: null, signal: 'SIGKILL' }

for (const [who, kill] of [
  ['guardian', async world => world.witness(`kill -9 ${(await world.supervisor()).guardian}`)],
  ['worker', async world => world.witness(`kill -9 ${(await world.supervisor()).worker}`)],
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
