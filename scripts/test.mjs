#!/usr/bin/env node
/**
 * `npm test`: installs what is missing, holds the table of tests to the contract, builds, runs every Rust and Node test.
 *
 *   node scripts/test.mjs [--rust] [--node] [--no-build] [FILE ...]     both by default; FILEs are Node test files
 *
 * What fails is run once more, Node test files alone, the tests of a Rust target one at a time: on a machine shared with others a deadline may pass
 * without a fault, while a fault fails twice. The first failure stays in the output.
 */
import { spawn, spawnSync } from 'node:child_process'
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
if (rust) {
  const failed = await rustTests([['--workspace']])
  if (failed.length > 0) {
    process.stderr.write(`test: once more, one at a time: ${failed.map(target => target.join(' ')).join(', ')}\n`)
    if ((await rustTests(failed, '--test-threads=1')).length > 0) process.exit(1)
  }
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

/** Runs the Rust tests of each selection, also behind one that fails; the targets that failed, each as cargo's own selection of it. */
async function rustTests(selections, ...harness) {
  const failed = []
  for (const selection of selections) {
    const args = ['test', ...selection, '--quiet', '--no-fail-fast', '--', ...harness]
    const { passed, stderr } = await watch('cargo', args, { DSH_LINK_SCHEDULES: '10000' })
    if (passed) continue
    const targets = [...stderr.matchAll(/^ {4}`(-p .+)`$/gm)].map(([, target]) => target.split(' '))
    // What does not compile fails the same way again.
    if (targets.length === 0) process.exit(1)
    failed.push(...targets)
  }
  return failed
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
  const tell = announce(command, args)
  const { status, error, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...env, ...process.env } })
  return tell(error?.message ?? signal ?? status)
}

/** As `run`, with what it wrote to stderr. */
async function watch(command, args, env) {
  const tell = announce(command, args)
  const child = spawn(command, args, { cwd: root, stdio: ['inherit', 'inherit', 'pipe'], env: { ...env, ...process.env } })
  const written = []
  child.stderr.on('data', chunk => {
    written.push(chunk)
    process.stderr.write(chunk)
  })
  const outcome = await new Promise(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('close', (status, signal) => resolve(signal ?? status))
  })
  return { passed: tell(outcome), stderr: Buffer.concat(written).toString() }
}

/** Tells what begins; the function that tells how it ended, and returns whether it passed. */
function announce(command, args) {
  const started = performance.now()
  process.stderr.write(`test: ${command} ${args.slice(0, 4).join(' ')}${args.length > 4 ? ' …' : ''}\n`)
  return outcome => {
    const passed = outcome === 0
    const seconds = Math.round((performance.now() - started) / 1000)
    const how = passed ? `passed in ${seconds} s` : `failed: ${typeof outcome === 'number' ? `status ${outcome}` : outcome}`
    process.stderr.write(`test: ${command} ${how}\n`)
    return passed
  }
}
