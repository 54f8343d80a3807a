#!/usr/bin/env node
/**
 * Holds the packed package to what its consumers' tools expect: `publint` and `attw` find nothing in any entry, every entry has
 * its file, and what an entry's types promise is what its module exports.
 *
 *   node scripts/package-check.mjs
 *
 * The entries are modules only: a `require` of them is not promised, nor are resolvers that know no `exports`.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import typescript from 'typescript'

const root = fileURLToPath(new URL('..', import.meta.url))
const { name, exports: entries } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'package-check-'))
try {
  const [{ filename, files }] = JSON.parse(run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]))
  const tarball = join(folder, filename)
  run(join(root, 'node_modules/.bin/publint'), ['run', tarball, '--strict'])
  run(join(root, 'node_modules/.bin/attw'), [tarball, '--profile', 'esm-only'])
  const packed = new Set(files.map(({ path }) => path))
  for (const [entry, target] of Object.entries(entries)) {
    for (const file of typeof target === 'string' ? [target] : Object.values(target)) {
      if (!packed.has(file.slice(2))) fail(`${entry}: ${file} is not in the package`)
    }
    if (typeof target !== 'string') await compare(entry, target)
  }
  process.stdout.write(`package-check: ${Object.keys(entries).length} entries, ${files.length} files, nothing found\n`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** What the types of an entry say that it exports at run time is there, and nothing more. */
async function compare(entry, target) {
  const types = join(root, target.types)
  if (!existsSync(types)) fail(`${entry}: ${target.types} is missing`)
  const options = { module: typescript.ModuleKind.NodeNext, moduleResolution: typescript.ModuleResolutionKind.NodeNext, skipLibCheck: true, types: [] }
  const program = typescript.createProgram([types], options)
  const checker = program.getTypeChecker()
  const resolved = symbol => (symbol.flags & typescript.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
  const promised = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(types)))
    .filter(symbol => !symbol.declarations?.some(typescript.isTypeOnlyImportOrExportDeclaration))
    .filter(symbol => resolved(symbol).flags & typescript.SymbolFlags.Value)
    .map(symbol => symbol.name)
  const given = Object.keys(await import(join(name, entry)))
  const differing = [...promised.filter(one => !given.includes(one)), ...given.filter(one => !promised.includes(one))]
  if (differing.length > 0) fail(`${entry}: types and module differ in ${differing.join(', ')}`)
}

function run(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (error !== undefined || status !== 0) fail(`${program} ${args[0]}: ${error?.message ?? `${stdout}${stderr}`}`)
  return stdout
}

function fail(message) {
  rmSync(folder, { recursive: true, force: true })
  process.stderr.write(`package-check: ${message}\n`)
  process.exit(1)
}
