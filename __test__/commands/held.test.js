import assert from 'node:assert/strict'
import { test } from 'node:test'
import { under } from './bare.js'
import { PATIENCE_MS, settled, unless, useWorld } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()

test('C12 C24 when the owner refuses after a caller was held, what has run has its own outcome and what is refused never ran', { skip: unless('native') }, async () => {
  const sandbox = await world.composition.sandbox()
  let refusal
  const getSandbox = async () => {
    if (refusal !== undefined) throw refusal.reason
    return sandbox
  }
  const held = await under(world.server, { cwd: world.cwd, getSandbox }, { startupWaitMs: PATIENCE_MS })
  try {
    await held.run(['true'])
    const kinds = []
    // Whatever it is that an owner throws.
    for (const reason of [new Error('no sandbox today'), undefined]) {
      refusal = { reason }
      // More than there are prepared processes: the later ones are held.
      const handles = Array.from({ length: 60 }, (_, at) => held.spawn(['sh', '-c', `: > ran-${at}`]))
      const outcomes = await Promise.allSettled(handles.map(handle => settled(handle)))
      refusal = undefined
      const ran = new Set((await held.sh('ls ran-*; rm -f ran-*')).stdout.split('\n'))
      const refused = outcomes.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))
      assert.deepEqual(refused.filter(at => ran.has(`ran-${at}`)), [], 'refused and ran')
      assert.ok(refused.every(at => outcomes[at].reason === reason), 'the owner\'s own reason')
      kinds.push([refused.length, 60 - refused.length])
      for (const handle of handles) assert.equal(await within(handle.waitForExit(), PATIENCE_MS, 'the end of its tree'), true)
    }
    assert.ok([0, 1].every(kind => kinds.some(counts => counts[kind] > 0)), `control: there were both kinds: ${JSON.stringify(kinds)}`)
  } finally {
    refusal = undefined
    await held.dispose()
  }
})
