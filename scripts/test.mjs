#!/usr/bin/env node
/**
 * `npm test`: installs what is missing, holds the table of tests to the contract, builds, runs every Rust and Node test.
 *
 *   node scripts/test.mjs [--rust] [--node] [--no-build] [FILE ...]     both by default; FILEs are Node test files
 *
 * What fails is run once more, Node test files alone, Rust tests one at a time: on a machine shared with others a deadline may pass
 * without a fault, while a fault fails twice. The first failure stays in the output.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { install } from './demo/prepare.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rust: { type: 'boolean' }, node: { type: 'boolean' }, 'no-build': { type: 'boolean', default: false } },
})
const rust = values.rust ?? (!values.node && positionals.length === 0)
const node = values.node ?? (!values.rust || positionals.length > 0)

install()
step('node', ['scripts/tests-table.mjs', '--check'])
if (!values['no-build']) step('node', ['scripts/build.mjs'])
if (rust && !rustTests()) {
  process.stderr.write('test: once more, one at a time\n')
  if (!rustTests('--test-threads=1')) process.exit(1)
}
if (node) {
  const files = positionals.length > 0 ? positionals : testFiles()
  // Each file has a sandbox service of its own; more of them at once than cores only makes deadlines pass.
  const failed = nodeTests(files, 2)
  if (failed.length > 0) {
    process.stderr.write(`test: once more, alone: ${failed.join(' ')}\n`)
    if (nodeTests(failed, 1).length > 0) process.exit(1)
  }
}

/** Runs every Rust test, also behind one that fails; whether all passed. */
function rustTests(...harness) {
  return run('cargo', ['test', '--workspace', '--quiet', '--no-fail-fast', '--', ...harness], { DSH_LINK_SCHEDULES: '10000' })
}

/** Runs test files; those that failed. */
function nodeTests(files, concurrency) {
  const scratch = mkdtempSync(join(tmpdir(), 'dsh-tests-'))
  const list = join(scratch, 'failed')
  const shown = process.stdout.isTTY ? 'spec' : 'tap'
  const reporters = [[shown, 'stdout'], [new URL('failed-files.mjs', import.meta.url).href, list]]
    .flatMap(([reporter, destination]) => [`--test-reporter=${reporter}`, `--test-reporter-destination=${destination}`])
  try {
    const passed = run('node', ['--test', `--test-concurrency=${concurrency}`, ...limit(), ...reporters, ...files])
    if (passed) return []
    const failed = readFileSync(list, 'utf8').split('\n').filter(file => file !== '')
    // Whatever ended the runner itself is no test's failure.
    if (failed.length === 0) process.exit(1)
    return failed
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** A file that does not end (Node itself may spin at its exit) fails, and is run once more. Node takes this from 20.11 on. */
function limit() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  return major > 20 || minor >= 11 ? ['--test-timeout=600000'] : []
}

function testFiles() {
  return readdirSync(join(root, '__test__'), { recursive: true })
    .filter(name => name.endsWith('.test.js'))
    .sort()
    .map(name => join('__test__', name))
}

function step(command, args, env) {
  if (!run(command, args, env)) process.exit(1)
}

/** Runs a command and tells how it went; whether it passed. */
function run(command, args, env = {}) {
  const started = performance.now()
  process.stderr.write(`test: ${command} ${args.slice(0, 4).join(' ')}${args.length > 4 ? ' …' : ''}\n`)
  const { status, error, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...env, ...process.env } })
  if (error !== undefined || status !== 0) {
    process.stderr.write(`test: ${command} failed: ${error?.message ?? signal ?? `status ${status}`}\n`)
    return false
  }
  process.stderr.write(`test: ${command} passed in ${Math.round((performance.now() - started) / 1000)} s\n`)
  return true
}
