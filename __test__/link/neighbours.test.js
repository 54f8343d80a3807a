import assert from 'node:assert/strict'
import { test } from 'node:test'
import Original from '@deepseek-ai/dsh-subprocess-e2b'
import Native from '../../index.js'
import { PATIENCE_MS, mark, says, settled, useLink } from './world.js'
import { until } from '../support/deadline.js'

const link = useLink()

test('two harnesses and the original provider in one sandbox do not meet, and the end of one is not felt by another', { timeout: 120_000 }, async () => {
  const first = await link.open()
  const { direct: sandbox } = first
  await first.witness('mkdir -p -m 700 /home/user/.dsh-e2b')
  const second = await link.open({}, { sandbox, Provider: class extends Native {} })
  const original = await link.open({}, { sandbox, Provider: Original })
  const worlds = [first, second, original]
  const marks = worlds.map(() => mark())
  const handles = worlds.map((world, i) => world.spawn(['sh', '-c', `read l; echo got $l; sleep ${marks[i]}`], { stdin: 'pipe', graceMs: 500 }))
  handles.forEach((handle, i) => handle.stdin.end(`${i}\n`))
  for (const [i, handle] of handles.entries()) await says(handle, new RegExp(`^got ${i}\n$`))
  for (const i of marks.keys()) await first.untilSleepers(marks[i], 1)

  await first.dispose()
  await second.untilSleepers(marks[0], 0)
  assert.equal(await second.sleepers(marks[1]), 1)
  assert.equal(await second.sleepers(marks[2]), 1)
  assert.equal((await second.sh('echo still')).stdout, 'still\n')
  assert.equal((await original.sh('echo still')).stdout, 'still\n')

  await original.dispose()
  await second.untilSleepers(marks[2], 0)
  assert.equal(await second.sleepers(marks[1]), 1)
  handles[1].terminate()
  assert.equal((await settled(handles[1])).exitCode, null)
  await second.dispose()
  // Disposal waits for the resident's word, not for the kernel to have taken the processes away.
  await until(async () => await second.witness("pgrep -f '[s]upervisor.* join'") === '', PATIENCE_MS, 'the supervisors are gone')
})
