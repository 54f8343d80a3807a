import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Context } from '@deepseek-ai/cordis'
import { Sandbox } from 'e2b'
import { builtFile } from '../../lib/load.js'
import { serverEnvironment, startServer } from '../support/server.js'
import { OWN_ADDON, Package } from './support.js'

const ADDON = OWN_ADDON.slice(OWN_ADDON.indexOf('npm/'))
const here = process.arch
const there = here === 'x64' ? 'arm64' : 'x64'
const name = { x64: 'x86_64', arm64: 'aarch64' }

let server, sandbox
before(async () => {
  server = await startServer()
  Object.assign(process.env, serverEnvironment(server))
  // An image that says it is the other machine.
  sandbox = await Sandbox.create({ timeoutMs: 300_000, envs: { PATH: '/home/user/other:/usr/local/bin:/usr/bin:/bin' } })
  await sandbox.files.write('/home/user/other/uname', `#!/bin/sh\necho ${name[there]}\n`)
  await sandbox.commands.run('chmod 755 ~/other/uname; mkdir -p -m 700 ~/.dsh-e2b')
})
after(async () => {
  await sandbox?.kill()
  await server?.stop()
})

/** What becomes of one command under the package's provider. */
async function outcome(one) {
  const { default: Provider } = await import(`${one.root}/index.js`)
  const ctx = new Context()
  ctx.reflect.provide('e2b', { cwd: '/home/user', runtimeRoot: '/home/user/.dsh-e2b', getSandbox: async () => sandbox })
  const fiber = await ctx.plugin(Provider, { lostAfterMs: 5_000 })
  const tail = { maxBytes: 1024 }
  const handle = ctx.subprocess.spawn({ argv: ['sh', '-c', 'exit 7'], cwd: '/', graceMs: 1_000, stdio: { stdin: 'ignore', stdout: tail, stderr: tail } })
  try {
    return await handle.done.then(({ exitCode }) => exitCode, error => error.message)
  } finally {
    await fiber.dispose().catch(() => {})
    one.remove()
  }
}

const packed = arch => ({ gz: readFileSync(builtFile(`supervisor/linux-${arch}.gz`)), facts: readFileSync(builtFile(`supervisor/linux-${arch}.json`)) })
const withBuild = (one, arch, { gz, facts }) => one.put(`npm/supervisor/linux-${arch}.gz`, gz).put(`npm/supervisor/linux-${arch}.json`, facts)
const nothing = { gz: gzipSync('no program'), facts: JSON.stringify({ sha256: '0'.repeat(64), size: 10 }) }

test('the build for the machine that the sandbox says it is comes there, not the host\'s own', { timeout: 60_000 }, async () => {
  // What is named for the other machine is this one's, since this is what can run; what is named for this one could not.
  const one = withBuild(withBuild(new Package().copy(ADDON, OWN_ADDON), there, packed(here)), here, nothing)
  assert.equal(await outcome(one), 7)
})

test('a sandbox of a machine that the package has no build for is one clear error', { timeout: 60_000 }, async () => {
  const one = withBuild(new Package().copy(ADDON, OWN_ADDON), here, packed(here))
  assert.match(String(await outcome(one)), new RegExp(name[there]))
})
