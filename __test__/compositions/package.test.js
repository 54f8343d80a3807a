import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serverEnvironment, startServer } from '../support/server.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const execute = promisify(execFile)
const INSTALL_MS = 120_000
let project, server

before(async () => {
  server = await startServer()
  project = await realpath(await mkdtemp(join(tmpdir(), 'installed-')))
  const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', project], { cwd: root })
  const [{ filename }] = JSON.parse(stdout)
  const { devDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const dependencies = { 'dsh-subprocess-native': `file:${filename}` }
  for (const name of ['@deepseek-ai/cordis', '@types/node']) dependencies[name] = devDependencies[name]
  await writeFile(join(project, 'package.json'), JSON.stringify({ type: 'module', private: true, dependencies }))
  await execute('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: project, timeout: INSTALL_MS })
  for (const name of ['installed.mjs', 'installed.ts']) {
    await copyFile(new URL(`fixtures/${name}`, import.meta.url), join(project, name))
  }
})

after(async () => {
  await rm(project, { recursive: true, force: true })
  await server.stop()
})

test('C1 C3 the packed package, installed in an empty project, runs commands from every entry', async () => {
  const { stdout, stderr } = await execute(process.execPath, ['installed.mjs'], { cwd: project, env: { ...process.env, ...serverEnvironment(server) }, timeout: 60_000 })
  assert.equal(stderr, '')
  const { from, remote, here, companions } = JSON.parse(stdout)
  assert.ok(fileURLToPath(from).startsWith(project), from)
  assert.equal(remote, 'ran as user\n')
  assert.equal(here, `ran as ${userInfo().username}\n`)
  assert.equal(new Set(companions).size, 3)
})

test('C5 the packed package compiles in a strict project that checks the types of its libraries', async () => {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const options = ['--strict', '--noEmit', '--target', 'es2022', '--module', 'nodenext', '--moduleResolution', 'nodenext', '--types', 'node', '--skipLibCheck', 'false']
  const { stdout } = await execute(process.execPath, [tsc, ...options, 'installed.ts'], { cwd: project }).catch(error => error)
  assert.equal(stdout, '')
})
