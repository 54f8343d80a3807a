import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { findSandboxd } from '../support/sandboxd.js'
import { fork } from './fork.js'
import { PROMISED } from './tried.js'

const RUN_MS = 120_000
let folder

before(async () => { folder = await fork() })
after(() => rm(folder, { recursive: true, force: true }))

test('C2 nothing in the fork says what the harness is called', async () => {
  const names = await readdir(join(folder, 'node_modules/@x'))
  assert.ok(names.includes('toh-e2b') && names.includes('toh-subprocess-e2b') && names.includes('cordis'))
  assert.ok(!names.some(name => name.startsWith('dsh-')))
  const text = await readFile(join(folder, 'node_modules/@x/toh-shell-env/lib/index.js'), 'utf8')
  assert.doesNotMatch(text, /@deepseek-ai\/|DSH_/)
})

for (const { name, owner } of PROMISED) {
  test(`C2 a fork with another scope, other names and another prefix works as the harness does (owner: ${owner})`, async () => {
    const env = { ...process.env, DSH_TEST_SANDBOXD: findSandboxd() }
    const run = promisify(execFile)(process.execPath, ['examples/compositions/run.js', 'shell', '--pair', name, '--json'], { cwd: folder, env, timeout: RUN_MS })
    const { stdout, stderr } = await run.catch(error => error)
    const told = stdout.trim().split('\n').map(line => JSON.parse(line))
    assert.deepEqual(told.filter(({ error }) => error !== undefined), [])
    assert.ok(told.at(-1).times.firstMs > 0 && told.length > 8, stdout)
    assert.equal(stderr, '')
  })
}
