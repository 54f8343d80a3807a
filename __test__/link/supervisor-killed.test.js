import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PATIENCE_MS, drain, gone, mark, says, settled, useLink } from './world.js'
import { until } from '../support/deadline.js'

const link = useLink()
const KILLED = { exitCode: null, signal: 'SIGKILL' }

/** How a supervisor is brought, or joined. */
const START = '/process.Process/Start'

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

for (const name of ['stdout', 'stderr']) {
  test(`C14 C15 C35 ${name} that is destroyed while there is no supervisor is closed by the next one`, { timeout: 90_000 }, async () => {
    const world = await link.open()
    const refused = () => world.proxy.requests.filter(({ path }) => path === START).length
    const { guardian } = await world.supervisor()
    world.proxy.rules = [{ path: START, refuse: 503 }]
    let seen = refused()
    await world.witness(`kill -9 ${guardian}`)
    await until(() => refused() > seen, PATIENCE_MS, 'an attempt at the next supervisor')
    const handle = world.spawn(['sh', '-c', `exec yes ${name === 'stdout' ? '' : '>&2'}`], { stdout: 'pipe', stderr: 'pipe' })
    for (const other of ['stdout', 'stderr']) handle[other][other === name ? 'destroy' : 'resume']()
    seen = refused()
    await until(() => refused() > seen, PATIENCE_MS, 'another one, that knows of the command')
    world.heal()
    assert.deepEqual(await settled(handle), { exitCode: null, signal: 'SIGPIPE' })
  })
}
