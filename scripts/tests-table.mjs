/**
 * Writes docs/tests.md: each clause of docs/contract.md and each trap of docs/traps.md with the tests that name it.
 *
 *   node scripts/tests-table.mjs            writes the table
 *   node scripts/tests-table.mjs --check    fails when the table is old, or a clause or trap of a finished part has no test
 *
 * A JavaScript test names a clause at the start of its title (`C20 …`, `C20 C21 …`), a Rust test at the start of its
 * name (`c20_…`). A trap is named at the end: `… (trap A8)`, `…_trap_a8`.
 */
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const table = join(root, 'docs/tests.md')
/** Parts that may lack tests yet; an entry leaves this list when its part is finished. */
const open = JSON.parse(readFileSync(join(root, 'docs/tests-open.json'), 'utf8'))

const tests = [...files('__test__', /\.test\.js$/).flatMap(javascript), ...['src', 'crates'].flatMap(dir => files(dir, /\.rs$/)).flatMap(rust)]
const clauses = listed('docs/contract.md')
const traps = listed('docs/traps.md')
const text = [
  '# Tests by clause and trap',
  '',
  'Made by `npm run tests-table`; do not edit. Clauses are in [contract.md](contract.md), traps in [traps.md](traps.md).',
  '',
  ...section('Clause', clauses, test => test.clauses),
  ...section('Trap', traps, test => test.traps),
].join('\n')

const missing = [
  ...clauses.filter(id => !open.clauses.includes(id) && !tests.some(test => test.clauses.includes(id))),
  ...traps.filter(id => !open.traps.includes(id) && !tests.some(test => test.traps.includes(id))).map(id => `trap ${id}`),
]
const unknown = tests.filter(test => test.clauses.some(id => !clauses.includes(id)) || test.traps.some(id => !traps.includes(id)))

if (process.argv.includes('--check')) {
  if (missing.length > 0) fail(`no test names ${missing.join(', ')}`)
  if (unknown.length > 0) fail(`unknown clause or trap in: ${unknown.map(test => `${test.file}: ${test.title}`).join('; ')}`)
  if (readFileSync(table, 'utf8') !== text) fail('docs/tests.md is old: npm run tests-table')
  process.stdout.write(`${tests.length} tests name ${clauses.length} clauses and ${traps.length} traps\n`)
} else {
  writeFileSync(table, text)
  process.stdout.write(`docs/tests.md: without a test: ${missing.join(', ') || 'nothing'}\n`)
}

function fail(message) {
  process.stderr.write(`tests-table: ${message}\n`)
  process.exit(1)
}

function files(dir, pattern) {
  return readdirSync(join(root, dir), { recursive: true })
    .map(name => join(dir, name))
    .filter(name => pattern.test(name))
    .sort()
}

function javascript(file) {
  const source = readFileSync(join(root, file), 'utf8')
  return [...source.matchAll(/\b(?:test|it|matrix)(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs)].map(match => named(file, match[2].replaceAll('\\', '')))
}

function rust(file) {
  const source = readFileSync(join(root, file), 'utf8')
  return [...source.matchAll(/#\[(?:\w+::)?test\b[^\]]*\](?:\s*#\[[^\]]*\])*\s*(?:async )?fn (\w+)/g)].map(match => {
    const trap = [...match[1].matchAll(/_trap_([a-k]\d+)/g)].map(m => `(trap ${m[1].toUpperCase()})`).join(' ')
    const clause = match[1].match(/^(?:[cd]\d+_)+/)?.[0].toUpperCase().replaceAll('_', ' ') ?? ''
    const words = match[1].replace(/^(?:[cd]\d+_)+/, '').replace(/(?:_trap_[a-k]\d+)+$/, '').replaceAll('_', ' ')
    return named(file, `${clause}${words} ${trap}`.trim())
  })
}

function named(file, title) {
  const clauses = title.match(/^(?:[CD]\d+[ ,–-]*)+/)?.[0].match(/[CD]\d+/g) ?? []
  const traps = [...title.matchAll(/\(traps? ([^)]*)\)/g)].flatMap(match => match[1].match(/[A-K]\d+/g) ?? [])
  return { file, title, clauses, traps }
}

function listed(file) {
  return [...readFileSync(join(root, file), 'utf8').matchAll(/^- \*\*([A-K]\d+)\*\*/gm)].map(match => match[1])
}

function section(word, ids, of) {
  const rows = ids.map(id => {
    const found = tests.filter(test => of(test).includes(id))
    const cells = found.map(test => `${test.title.replaceAll('|', '\\|')} (\`${relative('.', test.file)}\`)`)
    return `| ${id} | ${cells.join('<br>') || '–'} |`
  })
  return [`| ${word} | Tests |`, '|---|---|', ...rows, '']
}
