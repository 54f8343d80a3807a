#!/usr/bin/env node
/**
 * Assembles the npm packages of a release from what `npm/` holds: one for each addon that was built, and the main one that names
 * them all as optional dependencies and carries the supervisors. Publishes nothing.
 *
 *   node scripts/release.mjs [--partial] [--out DIR]      DIR is `build/release` by default; its old content goes
 *
 * Every addon of `scripts/targets.mjs` and both supervisors must be there; `--partial` takes what is.
 */
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ADDONS, SUPERVISORS } from './targets.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({ options: { partial: { type: 'boolean', default: false }, out: { type: 'string', default: join(root, 'build/release') } } })
const out = resolve(values.out)
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const { version, license, engines, publishConfig } = manifest

const missing = []
const present = (path, what) => {
  if (existsSync(join(root, path))) return true
  missing.push(`${what}: ${path}`)
  return false
}
const addons = ADDONS.filter(({ name, os, cpu }) => present(`npm/${os}-${cpu}/dsh-subprocess-native.${name}.node`, 'addon'))
const supervisors = Object.keys(SUPERVISORS).filter(arch => present(`npm/supervisor/linux-${arch}.gz`, 'supervisor'))
if (missing.length > 0 && !values.partial) fail(`not built:\n  ${missing.join('\n  ')}`)
if (addons.length === 0 || supervisors.length === 0) fail('there is no addon or no supervisor at all')

rmSync(out, { recursive: true, force: true })
for (const addon of addons) platformPackage(addon)
mainPackage()
process.stdout.write(`${[...addons.map(packageOf), manifest.name].map(name => join(out, name)).join('\n')}\n`)

function packageOf({ name }) {
  return `${manifest.name}-${name}`
}

/** The addon for one system, and on Linux the sandbox service. */
function platformPackage(addon) {
  const { name, os, cpu, libc } = addon
  const folder = join(out, packageOf(addon))
  const file = `${manifest.name}.${name}.node`
  copy(`npm/${os}-${cpu}/${file}`, join(folder, file), 0o644)
  const sandboxd = `npm/${os}-${cpu}/sandboxd`
  const service = existsSync(join(root, sandboxd))
  if (service) copy(sandboxd, join(folder, 'sandboxd'), 0o755)
  copy('LICENSE', join(folder, 'LICENSE'), 0o644)
  const description = `The addon of ${manifest.name} for ${name}`
  const only = { os: [os], cpu: [cpu], ...libc === undefined ? {} : { libc: [libc] } }
  const bin = service ? { bin: { sandboxd: 'sandboxd' } } : {}
  const files = service ? [file, 'sandboxd'] : [file]
  describe(folder, { name: packageOf(addon), version, description, license, main: file, files, ...bin, ...only, engines, publishConfig })
}

/** Everything else. Which addon is taken is npm's choice by `os`, `cpu` and `libc`. */
function mainPackage() {
  const folder = join(out, manifest.name)
  const kept = manifest.files.filter(pattern => !pattern.startsWith('npm/*/'))
  for (const entry of [...kept.filter(entry => !entry.startsWith('npm/')), 'README.md', 'CHANGELOG.md', 'LICENSE']) {
    cpSync(join(root, entry), join(folder, entry), { recursive: true })
  }
  for (const arch of supervisors) for (const kind of ['gz', 'json']) copy(`npm/supervisor/linux-${arch}.${kind}`, join(folder, `npm/supervisor/linux-${arch}.${kind}`), 0o644)
  const { devDependencies, overrides, scripts, ...rest } = manifest
  // Exactly this version: both halves of the boundary change together.
  describe(folder, { ...rest, files: kept, optionalDependencies: Object.fromEntries(addons.map(addon => [packageOf(addon), version])) })
}

function copy(from, to, mode) {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(join(root, from), to)
  chmodSync(to, mode)
}

function describe(folder, content) {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(content, null, 2)}\n`)
}

function fail(text) {
  process.stderr.write(`release: ${text}\n`)
  process.exit(1)
}
