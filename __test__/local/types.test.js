import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')

test('C5 the local provider\'s types stand alone, and an instance is taken for the seam package\'s own', () => {
  const project = fileURLToPath(new URL('types', import.meta.url))
  const { status, stdout } = spawnSync(process.execPath, [tsc, '--project', project], { encoding: 'utf8' })
  assert.equal(status, 0, stdout)
})
