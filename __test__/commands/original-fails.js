/**
 * Writes docs/original-fails.md: which behaviours of these tests the original TypeScript provider lacks, with their clauses.
 *
 *   node __test__/commands/original-fails.js [FILE ...]
 *
 * Every file runs against the original under its own owner, on the same server as ours. Takes some minutes: what it never does is waited for.
 * @module test/commands/original-fails
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('.', import.meta.url))
const table = fileURLToPath(new URL('../../docs/original-fails.md', import.meta.url))
const names = process.argv.length > 2 ? process.argv.slice(2) : readdirSync(here).filter(name => name.endsWith('.test.js')).sort()

process.env.DSH_TEST_PROVIDER = 'ts'
/** Titles that only our own provider can be asked about are skipped there and not counted. */
const passed = []
const failed = []
const stream = run({ files: names.map(name => join(here, basename(name))), concurrency: 2 })
stream.on('test:pass', event => {
  if (isTest(event) && event.skip === undefined) passed.push(event.name)
})
stream.on('test:fail', event => {
  if (isTest(event)) failed.push({ file: basename(event.file ?? ''), title: event.name, why: reason(event.details.error) })
})
stream.on('data', () => {})
await new Promise((resolve, reject) => stream.once('end', resolve).once('error', reject))

failed.sort((a, b) => a.file.localeCompare(b.file) || a.title.localeCompare(b.title, 'en', { numeric: true }))
writeFileSync(table, [
  '# What the original fails',
  '',
  'Made by `node __test__/commands/original-fails.js`; do not edit. The same tests that our provider passes, run against',
  `\`@deepseek-ai/dsh-subprocess-e2b\` on the same server: ${passed.length} pass, ${failed.length} fail.`,
  '',
  '| Behaviour | Test file | What happens instead |',
  '|---|---|---|',
  ...failed.map(({ file, title, why }) => `| ${cell(title)} | ${file} | ${cell(why)} |`),
  '',
].join('\n'))
process.stdout.write(`docs/original-fails.md: ${passed.length} pass, ${failed.length} fail\n`)
process.exit(0)

/** The files themselves are reported as tests too. */
function isTest({ name, details }) {
  return !name.endsWith('.test.js') && details?.type !== 'suite'
}

/** The first words of an error that say most, without what changes from run to run. */
function reason(error) {
  const cause = error?.cause ?? error
  const { message = String(cause), actual, expected } = typeof cause === 'object' && cause !== null ? cause : {}
  const text = /strictly (deep-)?equal/i.test(message) && JSON.stringify([actual, expected])?.length < 160
    ? `gives ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`
    : message
  return text.split('\n')[0].slice(0, 160)
    .replace(/work-[0-9a-f]{8}/g, 'work').replace(/600\.\d+/g, '600').replace(/\b\d{3,}(\.\d+)? ms/g, 'N ms').replace(/\bpid \d+/g, 'pid N')
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
