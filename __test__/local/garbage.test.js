import assert from 'node:assert/strict'
import { test } from 'node:test'
import { host } from './support.js'

const COUNT = 150
const MIB = 1 << 20

/** What a harness with many commands behind it still has. */
async function left(kind) {
  const { code, stdout, stderr } = await host('dropped.mjs', kind, String(COUNT)).over
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout)
}

test('C18 C64 commands that are over and that nobody holds give their output\'s memory back', async () => {
  const { wrong, grown } = await left('collected')
  assert.equal(wrong, 0)
  // All their windows would be 150 MiB.
  assert.ok(grown < 60 * MIB, `${grown / MIB} MiB`)
})
