#!/usr/bin/env node
/**
 * `npm test`: installs what is missing, holds the table of tests to the contract, builds, runs every Rust and Node test.
 *
 *   node scripts/test.mjs [--rust] [--node] [--no-build] [FILE ...]     both by default; FILEs are Node test files
 */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
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
if (rust) step('cargo', ['test', '--workspace', '--quiet'], { DSH_LINK_SCHEDULES: '10000' })
if (node) {
  const files = positionals.length > 0 ? positionals : testFiles()
  // Each file has a sandbox service of its own; more of them at once than cores only makes deadlines pass.
  step('node', ['--test', '--test-concurrency=2', ...files])
}

function testFiles() {
  return readdirSync(join(root, '__test__'), { recursive: true })
    .filter(name => name.endsWith('.test.js'))
    .sort()
    .map(name => join('__test__', name))
}

function step(command, args, env = {}) {
  const started = performance.now()
  process.stderr.write(`test: ${command} ${args.slice(0, 4).join(' ')}${args.length > 4 ? ' …' : ''}\n`)
  const { status, error, signal } = spawnSync(command, args, { cwd: root, stdio: 'inherit', env: { ...env, ...process.env } })
  if (error !== undefined || status !== 0) {
    process.stderr.write(`test: ${command} failed: ${error?.message ?? signal ?? `status ${status}`}\n`)
    process.exit(status || 1)
  }
  process.stderr.write(`test: ${command} passed in ${Math.round((performance.now() - started) / 1000)} s\n`)
}
