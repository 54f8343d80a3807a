#!/usr/bin/env node
/**
 * Checks that the project compiles for every system and processor that it is meant for, as far as this machine has what that takes,
 * and says what is missing and how to get it.
 *
 *   node scripts/check-targets.mjs [--strict] [TARGET ...]      all by default; `--strict` fails for what is missing, too
 *
 * A target needs its standard library, or the sources of it (then it is checked together with the project), and a C compiler for the
 * one dependency that has C in it. Nothing is linked, so neither Apple's nor Microsoft's files are needed.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ADDONS, CRATES } from './targets.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const targetDir = process.env.CARGO_TARGET_DIR ?? join(root, 'target')
const folder = join(targetDir, 'check-targets')
const { values: { strict }, positionals } = parseArgs({ options: { strict: { type: 'boolean', default: false } }, allowPositionals: true })

/** C compilers by target, with the archiver that goes with each and where to get them. */
const COMPILERS = {
  'aarch64-unknown-linux-gnu': { program: 'aarch64-linux-gnu-gcc', archiver: 'aarch64-linux-gnu-ar', how: 'Debian: gcc-aarch64-linux-gnu' },
  'x86_64-pc-windows-gnu': { program: 'x86_64-w64-mingw32-gcc', archiver: 'x86_64-w64-mingw32-ar', more: nodeForWindows, how: 'Debian: gcc-mingw-w64-x86-64' },
  'aarch64-apple-darwin': { program: 'zig', archiver: 'ar', wrap: zigForMac, how: 'zig on PATH (PyPI: ziglang), or CC_aarch64_apple_darwin' },
}

const rustc = args => spawnSync('rustc', args, { encoding: 'utf8' }).stdout?.trim() ?? ''
const host = rustc(['-vV']).match(/^host: (.*)$/m)?.[1] ?? fail('rustc is not there')
const sources = join(rustc(['--print', 'sysroot']), 'lib/rustlib/src/rust/library/Cargo.lock')

const all = ADDONS.map(({ os, target, checked }) => ({ os, target: checked ?? target }))
const unknown = positionals.filter(name => !all.some(({ target }) => target === name))
if (unknown.length > 0) fail(`there is no target ${unknown.join(', ')}; there are ${all.map(({ target }) => target).join(', ')}`)

const results = all.filter(({ target }) => positionals.length === 0 || positionals.includes(target)).map(one => ({ ...one, ...check(one) }))
for (const { target, result, why = '' } of results) process.stdout.write(`${target.padEnd(28)} ${result.padEnd(9)} ${why}\n`)
const bad = results.filter(({ result }) => result === 'fails' || (strict && result === 'unchecked'))
process.exit(bad.length > 0 ? 1 : 0)

/** @returns {{ result: 'compiles' | 'fails' | 'unchecked', why?: string }} */
function check({ os, target }) {
  const library = standardLibrary(target)
  if (library === undefined) {
    return { result: 'unchecked', why: `no standard library: rustup target add ${target}, or its sources: rustup component add rust-src (Debian: rust-src)` }
  }
  const compiler = cCompiler(target)
  if (compiler === undefined) return { result: 'unchecked', why: `no C compiler: ${COMPILERS[target]?.how ?? `name one in CC_${target.replaceAll('-', '_')}`}` }
  const packages = CRATES[os].flatMap(crate => ['--package', crate])
  process.stderr.write(`check-targets: ${target}\n`)
  const { status, error } = spawnSync('cargo', ['check', '--target', target, ...packages, ...library.args], {
    cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, ...library.env, ...compiler },
  })
  if (error !== undefined) fail(`cargo: ${error.message}`)
  return status === 0 ? { result: 'compiles', why: library.why } : { result: 'fails', why: 'see above' }
}

/** What cargo has to be told for a target's standard library; `undefined` when there is none. */
function standardLibrary(target) {
  const folder = rustc(['--print', 'target-libdir', '--target', target])
  if (folder !== '' && existsSync(folder)) return { args: [], env: {} }
  if (!existsSync(sources)) return undefined
  // The sources are the compiler's own, so that its unstable door to them opens on nothing unexpected.
  return { args: ['-Zbuild-std=std,panic_abort,panic_unwind'], env: { RUSTC_BOOTSTRAP: '1' }, why: 'with the standard library from its sources' }
}

/** Environment that names a C compiler for a target; `undefined` when there is none. */
function cCompiler(target) {
  const suffix = target.replaceAll('-', '_')
  if (target === host || process.env[`CC_${suffix}`] !== undefined) return {}
  const known = COMPILERS[target]
  if (known === undefined || onPath(known.program) === undefined) return undefined
  const program = known.wrap?.(onPath(known.program)) ?? known.program
  return { [`CC_${suffix}`]: program, [`AR_${suffix}`]: process.env[`AR_${suffix}`] ?? known.archiver, ...known.more?.() }
}

/** zig as a compiler for macOS: it does not know the words by which Apple's is told the processor and the oldest system. */
function zigForMac(zig) {
  const wrapper = join(folder, 'cc-macos')
  mkdirSync(folder, { recursive: true })
  writeFileSync(wrapper, `#!/bin/bash
kept=()
while [ $# -gt 0 ]; do
  case $1 in
    -arch) shift ;;
    -mmacosx-version-min=*|--target=*|-gfull|-gdwarf*) ;;
    *) kept+=("$1") ;;
  esac
  shift
done
exec '${zig}' cc -target aarch64-macos "\${kept[@]}"
`)
  chmodSync(wrapper, 0o755)
  return wrapper
}

/** Node's own library, which a build script wants to see and nothing that is only checked reads. */
function nodeForWindows() {
  if (process.env.LIBNODE_PATH !== undefined) return {}
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'libnode.dll'), '')
  return { LIBNODE_PATH: folder }
}

function onPath(program) {
  return (process.env.PATH ?? '').split(delimiter).map(folder => join(folder, program)).find(file => existsSync(file))
}

function fail(text) {
  process.stderr.write(`check-targets: ${text}\n`)
  process.exit(1)
}
