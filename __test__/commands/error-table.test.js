import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import typescript from 'typescript'
import { errnoNames, ownCodes, texts } from './thrown.js'

const source = path => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = source('docs/errors.md')
/** The shim itself tells it by the text of a terminal without a foreground group. */
const INNER = 'ERR_TERMINAL_FOREGROUND'

/** Rows of the table below a heading: what it is about, class, cause and advice. */
function rows(heading, text = page) {
  const section = text.split(/^## /m).find(part => part.startsWith(`${heading}\n`))
  assert.notEqual(section, undefined, heading)
  return section.split('\n').filter(line => /^\| `/.test(line)).flatMap(line => {
    const cells = line.slice(2, -2).split(' | ')
    assert.equal(cells.length, 4, line)
    assert.ok(cells.every(cell => cell.trim() !== ''), `cause and advice: ${line}`)
    const [about, name] = cells
    return [...about.matchAll(/`([^`]+)`/g)].map(([, what]) => ({ what, name }))
  })
}

/** Members of a union type of a declaration file. */
function union(path, name) {
  const file = typescript.createSourceFile(path, source(path), typescript.ScriptTarget.Latest, true)
  const type = file.statements.find(node => typescript.isTypeAliasDeclaration(node) && node.name.text === name)?.type
  assert.ok(type !== undefined && typescript.isUnionTypeNode(type), `${path} has the union ${name}`)
  return type.types.filter(typescript.isLiteralTypeNode).map(node => node.literal.text)
}

const sorted = words => [...words].sort()
const documented = heading => sorted(rows(heading).map(({ what }) => what))

test('C21 each code of ours is in the table of errors and in the union, and nothing else is', () => {
  const codes = ownCodes().filter(code => code !== INNER)
  const owner = codes.filter(code => code.startsWith('ERR_E2B_'))
  const provider = codes.filter(code => !code.startsWith('ERR_E2B_'))
  assert.deepEqual(documented('Codes of the provider'), provider)
  assert.deepEqual(sorted(union('seam.d.ts', 'SubprocessErrorCode')), provider)
  assert.deepEqual(documented('Codes of the owner'), owner)
  assert.deepEqual(sorted(union('e2b.d.ts', 'OwnerErrorCode')), owner)
  assert.ok(provider.length >= 10 && owner.length >= 15, 'control: the sources were read')
})

test('C21 each error number that has a name is in the table of errors and in the union, and nothing else is', () => {
  const names = errnoNames()
  assert.deepEqual(documented('Codes of the system'), names)
  assert.deepEqual(sorted(union('seam.d.ts', 'SystemErrorCode')), names)
  assert.ok(names.length > 30, 'control: the source was read')
})

test('C21 each text of the shim is in the table of errors with its class, and nothing else is', () => {
  const made = texts()
  assert.deepEqual(new Map(rows('Without a code').map(({ what, name }) => [what, name]).sort()), new Map([...made].sort()))
  for (const text of ['service is disposing', 'invalid argv']) assert.ok([...made.keys()].some(key => key.includes(text)), `control: ${text}`)
})

test('C21 the classes of the owner\'s errors are those that the table says', () => {
  const classes = new Map([...source('lib/owner/errors.js').matchAll(/(ERR_E2B_\w+): '(\w+)'/g)].map(([, code, name]) => [code, name]))
  assert.ok(classes.size > 5, 'control: the source was read')
  for (const { what, name } of rows('Codes of the owner')) assert.match(name, new RegExp(`^${classes.get(what) ?? 'SandboxError'}\\b`), what)
})

test('control: a row that is missing, or says nothing of cause or advice, is noticed', () => {
  const [{ what }] = rows('Codes of the provider')
  const without = page.split('\n').filter(line => !line.startsWith(`| \`${what}\``)).join('\n')
  assert.ok(!rows('Codes of the provider', without).some(row => row.what === what))
  assert.throws(() => rows('Codes of the provider', page.replace(/^(\| `ERR_SANDBOX_GONE` \| Error \| )[^|]*/m, '$1 ')), /cause and advice/)
})
