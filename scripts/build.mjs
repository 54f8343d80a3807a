/**
 * Builds what the package needs beside its JavaScript and puts it where `lib/load.js` looks:
 *
 *   npm/OS-ARCH/dsh-subprocess-native.PLATFORM.node   the addon
 *   npm/OS-ARCH/sandboxd                              the sandbox service for development and tests
 *   npm/supervisor/linux-ARCH.gz, .json               the static supervisor, packed, and what it is
 *
 *   node scripts/build.mjs [--debug] [addon|sandboxd|supervisor ...]     all parts by default
 *
 * `CARGO_TARGET_DIR` is respected. Cargo decides what is up to date; nothing changed means seconds.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { builtFile, machine, platform } from '../lib/load.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values: { debug }, positionals } = parseArgs({ options: { debug: { type: 'boolean', default: false } }, allowPositionals: true })
const targetDir = process.env.CARGO_TARGET_DIR ?? join(root, 'target')
const profile = debug ? 'dev' : 'release'
const profileDir = debug ? 'debug' : 'release'
const parts = { addon: buildAddon, sandboxd: buildSandboxd, supervisor: buildSupervisor }
const wanted = positionals.length > 0 ? positionals : Object.keys(parts)

for (const part of wanted) {
  if (!(part in parts)) fail(`there is no part ${part}; there are ${Object.keys(parts).join(', ')}`)
  const start = performance.now()
  const file = parts[part]()
  say(`${part}: ${file ?? 'not for this system'} (${((performance.now() - start) / 1000).toFixed(1)} s)`)
}

function buildAddon() {
  cargo(['build', '--package', 'dsh-subprocess-native', '--lib', '--profile', profile])
  const built = { win32: 'dsh_subprocess_native.dll', darwin: 'libdsh_subprocess_native.dylib' }[process.platform] ?? 'libdsh_subprocess_native.so'
  return put(join(targetDir, profileDir, built), `${machine}/dsh-subprocess-native.${platform()}.node`, 0o644)
}

function buildSandboxd() {
  if (process.platform !== 'linux') return undefined
  cargo(['build', '--package', 'sandboxd', '--bin', 'sandboxd', '--profile', profile])
  return put(join(targetDir, profileDir, 'sandboxd'), `${machine}/sandboxd`, 0o755)
}

/** For this machine's architecture; the others are built on theirs. */
function buildSupervisor() {
  if (process.platform !== 'linux') return undefined
  const triple = hostTriple()
  const flags = `CARGO_TARGET_${triple.toUpperCase().replaceAll('-', '_')}_RUSTFLAGS`
  // Static: it must run in any image.
  cargo(['build', '--package', 'supervisor', '--bin', 'supervisor', '--profile', 'supervisor', '--target', triple], {
    [flags]: '-C target-feature=+crt-static',
  })
  const file = join(targetDir, triple, 'supervisor', 'supervisor')
  requireRunning(file)
  const binary = readFileSync(file)
  const facts = JSON.stringify({ sha256: createHash('sha256').update(binary).digest('hex'), size: binary.length })
  const name = `supervisor/linux-${process.arch}`
  const described = builtFile(`${name}.json`)
  if (!existsSync(described) || readFileSync(described, 'utf8') !== facts) {
    write(builtFile(`${name}.gz`), gzipSync(binary, { level: 9 }))
    write(described, facts)
  }
  return builtFile(`${name}.gz`)
}

function hostTriple() {
  const line = execFileSync('rustc', ['-vV'], { encoding: 'utf8' }).split('\n').find(line => line.startsWith('host: '))
  return line?.slice('host: '.length) ?? fail('rustc does not say what its host is')
}

/** A binary that was linked wrongly shows here, not in somebody's sandbox. */
function requireRunning(file) {
  const { status, error, stderr } = spawnSync(file, ['version'], { encoding: 'utf8', timeout: 10_000 })
  if (error !== undefined || status !== 0) fail(`${file} does not run: ${error?.message ?? `status ${status} ${stderr}`}`)
}

function cargo(args, env = {}) {
  say(`cargo ${args.join(' ')}`)
  const { status, error } = spawnSync('cargo', args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
  if (error !== undefined) fail(`cargo: ${error.message} (is Rust installed?)`)
  if (status !== 0) process.exit(status ?? 1)
}

/** Replaces, never overwrites: a process may have the old file loaded. */
function put(from, to, mode) {
  const path = builtFile(to)
  mkdirSync(dirname(path), { recursive: true })
  const fresh = `${path}.${process.pid}`
  copyFileSync(from, fresh)
  chmodSync(fresh, mode)
  renameSync(fresh, path)
  return path
}

function write(path, data) {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(`${path}.${process.pid}`, data)
  renameSync(`${path}.${process.pid}`, path)
}

function say(text) {
  process.stderr.write(`build: ${text}\n`)
}

function fail(text) {
  say(text)
  process.exit(1)
}
