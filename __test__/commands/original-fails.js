/**
 * Writes docs/original-fails.md: which behaviours of these tests the original TypeScript provider lacks, with their clauses.
 *
 *   node __test__/commands/original-fails.js [FILE ...]
 *
 * Every file runs against the original under its own owner, on the same server as ours. What failed is run again, alone and in a sandbox of its own, and has
 * failed only if it fails then too: what a busy machine or a neighbour's test did to it does not count. Takes some twenty minutes: what it never
 * does is waited for.
 * @module test/commands/original-fails
 */
import { readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { forAll } from './world.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const table = fileURLToPath(new URL('../../docs/original-fails.md', import.meta.url))
const names = process.argv.length > 2 ? process.argv.slice(2) : readdirSync(here).filter(name => name.endsWith('.test.js') && name !== 'controls.test.js').sort()
/** Most of the time is spent in waiting. */
const AT_A_TIME = 3

process.env.DSH_TEST_PROVIDER = 'ts'
const isLate = ({ why }) => /not within|timed out|not running anymore/.test(why)
const results = []
await forAll(names.map(name => basename(name)), async file => { results.push(...await resultsOf(file)) }, AT_A_TIME)
await forAll(results.filter(({ why }) => why !== undefined), async result => {
  const again = (await resultsOf(result.file, result.title)).find(({ title }) => title === result.title)
  if (again !== undefined) result.why = again.why
}, AT_A_TIME)
const passed = results.filter(({ why }) => why === undefined)
const failed = results.filter(({ why }) => why !== undefined)
failed.sort((a, b) => a.file.localeCompare(b.file) || a.title.localeCompare(b.title, 'en', { numeric: true }))
const late = failed.filter(isLate)
const wrong = failed.filter(failure => !isLate(failure))
writeFileSync(table, [
  '# What the original fails',
  '',
  'Made by `node __test__/commands/original-fails.js`; do not edit. The same tests that our provider passes, run against',
  `\`@deepseek-ai/dsh-subprocess-e2b\` on the same server: ${passed.length} pass, ${wrong.length} fail, ${late.length} do not end in time.`,
  'What is listed failed twice, the second time alone in a sandbox of its own.',
  'Nearly everything that our provider fixes is a limitation that the original states itself.',
  '',
  ...section('Fails', wrong),
  'The following did not end within their deadlines. Some never end; some are only slow.',
  '',
  ...section('Not in time', late),
].join('\n'))
process.stdout.write(`docs/original-fails.md: ${passed.length} pass, ${wrong.length} fail, ${late.length} late\n`)
process.exit(0)

/**
 * Runs a file, or one test of it. What only our own provider can be asked is skipped there and not counted; controls are about the tests themselves.
 * @param {string} file
 * @param {string} [only] a title
 * @returns {Promise<{ file: string, title: string, why?: string }[]>} `why` where it failed
 */
async function resultsOf(file, only) {
  const found = []
  const pattern = only === undefined ? undefined : new RegExp(`^${only.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`)
  const stream = run({ files: [join(here, file)], concurrency: 1, ...(pattern && { testNamePatterns: [pattern] }) })
  const counts = event => !event.name.startsWith('control: ') && isTest(event) && event.skip === undefined
  stream.on('test:pass', event => { if (counts(event)) found.push({ file, title: event.name }) })
  stream.on('test:fail', event => { if (counts(event)) found.push({ file, title: event.name, why: reason(event.details.error) }) })
  stream.on('data', () => {})
  await new Promise((resolve, reject) => stream.once('end', resolve).once('error', reject))
  return found
}

function section(heading, failures) {
  return [
    `## ${heading}`, '', '| Behaviour | Test file | What happens instead |', '|---|---|---|',
    ...failures.map(({ file, title, why }) => `| ${cell(title)} | ${file} | ${cell(why)} |`), '',
  ]
}

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
    : message || cause?.code || String(cause)
  return text.split('\n')[0].slice(0, 160)
    .replace(/work-[0-9a-f]{8}/g, 'work').replace(/[0-9a-f]{8}(-[0-9a-f]{4}){1,4}[^ ]*/g, 'ID').replace(/600\.\d+/g, '600').replace(/file:\/\/[^ ]*__test__/g, '__test__').replace(/\b\d{3,}(\.\d+)? ms/g, 'N ms').replace(/\bpid \d+/g, 'pid N')
}

function cell(text) {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ')
}
