/**
 * Builds what the package needs beside its JavaScript and puts it where `lib/load.js` looks:
 *
 *   npm/OS-ARCH/dsh-subprocess-native.PLATFORM.node   the addon
 *   npm/OS-ARCH/sandboxd                              the sandbox service for development and tests
 *   npm/supervisor/linux-ARCH.gz, .json               the static supervisor, packed, and what it is
 *
 *   node scripts/build.mjs [--debug] [--arch ARCH[,ARCH]] [--musl] [addon|sandboxd|supervisor ...]     all parts by default
 *
 * `--arch` (`x64`, `arm64`) says which supervisors are built; by default this machine's. Another one needs its standard library
 * (`rustup target add`) and a linker. `--musl` builds them on musl: half as large, where that target is installed.
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
import { SUPERVISORS } from './targets.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values: { debug, arch: architectures, musl }, positionals } = parseArgs({
  allowPositionals: true,
  options: { debug: { type: 'boolean', default: false }, arch: { type: 'string' }, musl: { type: 'boolean', default: false } },
})
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

/** Supervisors run on Linux only, but any host that has what it takes may build them. */
function buildSupervisor() {
  if (architectures === undefined && process.platform !== 'linux') return undefined
  return (architectures?.split(',') ?? [process.arch]).map(buildSupervisorFor).join(', ')
}

function buildSupervisorFor(arch) {
  const machine = SUPERVISORS[arch] ?? fail(`there is no supervisor for ${arch}; there are ${Object.keys(SUPERVISORS).join(', ')}`)
  const triple = supervisorTriple(machine)
  const variable = `CARGO_TARGET_${triple.toUpperCase().replaceAll('-', '_')}`
  // Static: it must run in any image.
  const env = { [`${variable}_RUSTFLAGS`]: '-C target-feature=+crt-static' }
  // musl's target brings its own C library and needs a linker only; glibc's needs the compiler's files for it.
  if (arch !== process.arch) env[`${variable}_LINKER`] = process.env[`${variable}_LINKER`] ?? (musl ? 'rust-lld' : `${machine}-linux-gnu-gcc`)
  cargo(['build', '--package', 'supervisor', '--bin', 'supervisor', '--profile', 'supervisor', '--target', triple], env)
  const file = join(targetDir, triple, 'supervisor', 'supervisor')
  requireRunning(file, arch)
  return pack(file, `supervisor/linux-${arch}`)
}

function supervisorTriple(machine) {
  const triple = `${machine}-unknown-linux-${musl ? 'musl' : 'gnu'}`
  const library = execFileSync('rustc', ['--print', 'target-libdir', '--target', triple], { encoding: 'utf8' }).trim()
  return existsSync(library) ? triple : fail(`there is no standard library for ${triple}: rustup target add ${triple}`)
}

/** Compresses a binary to `npm/NAME.gz`, with its facts beside it, unless that is there already. */
function pack(file, name) {
  const binary = readFileSync(file)
  const facts = JSON.stringify({ sha256: createHash('sha256').update(binary).digest('hex'), size: binary.length })
  const described = builtFile(`${name}.json`)
  if (!existsSync(described) || readFileSync(described, 'utf8') !== facts) {
    write(builtFile(`${name}.gz`), gzipSync(binary, { level: 9 }))
    write(described, facts)
  }
  return builtFile(`${name}.gz`)
}

/** A binary that was linked wrongly shows here, not in somebody's sandbox. Another machine's is tried where an emulator is there. */
function requireRunning(file, arch) {
  const foreign = arch !== process.arch || process.platform !== 'linux'
  const [program, args] = foreign ? [`qemu-${SUPERVISORS[arch]}`, [file, 'version']] : [file, ['version']]
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 30_000 })
  if (foreign && error?.code === 'ENOENT') return say(`${file} was not tried: it is another machine's, and there is no ${program}`)
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
