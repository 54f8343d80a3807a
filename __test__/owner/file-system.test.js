import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { PATIENCE_MS, useServer } from './support.js'

await useServer()
const fixture = name => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

for (const [how, args, isOurs] of [
  ['as it is', [], false],
  ['with its import of the owner aliased to ours', ['--import', fixture('alias.js')], true],
]) {
  test(`D31 the published file system ${how} works over our owner, where stat of a missing file is undefined`, async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [...args, fixture('stat.js')], { timeout: PATIENCE_MS })
    assert.deepEqual(JSON.parse(stdout), { isOurs, missing: true, size: 8, text: 'as told\n', names: ['.dsh-e2b', 'made.txt'] })
    assert.equal(stderr, '', 'D5 nothing is printed')
  })
}
