import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { platform } from '../../lib/load.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const execute = promisify(execFile)
const OWN = `dsh-subprocess-native-${platform()}`
let folder
const manifestIn = directory => JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
const manifest = name => manifestIn(join(folder, name))

before(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'release-')))
  await execute(process.execPath, ['scripts/release.mjs', '--partial', '--out', folder], { cwd: root })
})
after(() => rmSync(folder, { recursive: true, force: true }))

test('a release is a package for each addon, and one without any that names them', () => {
  const [main, own] = [manifest('dsh-subprocess-native'), manifest(OWN)]
  assert.equal(main.optionalDependencies[OWN], own.version)
  assert.deepEqual([own.os, own.cpu, existsSync(join(folder, OWN, own.main))], [[process.platform], [process.arch], true])
  assert.equal(main.devDependencies, undefined)
  assert.ok(main.files.every(pattern => !pattern.includes('.node')), String(main.files))
  assert.ok(existsSync(join(folder, 'dsh-subprocess-native/npm/supervisor', `linux-${process.arch}.gz`)))
})

test('installed side by side they run a command on this machine', { timeout: 120_000 }, async () => {
  const project = await mkdtemp(join(folder, 'project-'))
  const pack = async name => {
    const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project, join(folder, name)], { cwd: project })
    return `file:${JSON.parse(stdout)[0].filename}`
  }
  // As npm would have taken them from a registry by the optional dependency; here both come from files.
  const dependencies = { 'dsh-subprocess-native': await pack('dsh-subprocess-native'), [OWN]: await pack(OWN), '@deepseek-ai/cordis': manifestIn(root).devDependencies['@deepseek-ai/cordis'] }
  const overrides = { 'dsh-subprocess-native': { [OWN]: dependencies[OWN] } }
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true, dependencies, overrides }))
  await execute('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: project })
  await writeFile(join(project, 'main.mjs'), `
    import { Context } from '@deepseek-ai/cordis'
    import Local from 'dsh-subprocess-native/local'
    const ctx = new Context()
    const fiber = await ctx.plugin(Local)
    const stdio = { stdin: 'ignore', stdout: { maxBytes: 10 }, stderr: { maxBytes: 10 } }
    console.log((await ctx.subprocess.spawn({ argv: ['sh', '-c', 'exit 5'], cwd: '/', graceMs: 100, stdio }).done).exitCode)
    await fiber.dispose()
  `)
  assert.ok(!existsSync(join(project, 'node_modules/dsh-subprocess-native/npm', `${process.platform}-${process.arch}`)), 'the main package has no addon')
  const { stdout } = await execute(process.execPath, ['main.mjs'], { cwd: project })
  assert.equal(stdout.trim(), '5')
})
