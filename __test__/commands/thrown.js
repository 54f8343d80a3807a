/**
 * What the sources throw and reject with: codes of the addon and texts of the shim.
 * @module test/commands/thrown
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import typescript from 'typescript'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The function of the shim that says its argument after the provider's name; with two, which key must be what. */
const SAYER = 'refuse'
/** What such functions themselves make. */
const WRAPPER = /^(subprocess-e2b|…)?(: )?…( must be …)?$/
const { SyntaxKind } = typescript

/** Paths of the sources below a folder that consumers run; tests of Rust aside. */
function sources(folder, extension) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter(name => name.endsWith(extension) && !/(^|\/)tests?\/|_tests\.rs$|test_server/.test(name))
    .sort()
    .map(name => join(root, folder, name))
}

/** The text of a source without what only its tests have. */
function read(path) {
  return readFileSync(path, 'utf8').split(/^#\[cfg\(test\)\]\nmod /m, 1)[0]
}

/**
 * Codes of ours.
 * @returns {string[]} each `ERR_…` once, sorted
 */
export function ownCodes() {
  const texts = [...sources('src', '.rs'), ...sources('lib', '.js')].map(read)
  return [...new Set(texts.flatMap(text => text.match(/\bERR_[A-Z0-9_]*[A-Z0-9]\b/g) ?? []))].sort()
}

/**
 * Names of Linux error numbers that can be a code.
 * @returns {string[]} sorted
 */
export function errnoNames() {
  const text = read(join(root, 'src/session/errno.rs'))
  return [...text.matchAll(/=> "(E[A-Z0-9]+)"/g)].map(([, name]) => name).sort()
}

/**
 * Errors without a code that the shim makes.
 * @returns {Map<string, string>} class by text, with `…` for what differs
 */
export function texts() {
  const found = new Map()
  for (const path of sources('lib', '.js')) {
    const file = typescript.createSourceFile(path, read(path), typescript.ScriptTarget.Latest, true)
    const visit = node => {
      const { name, text } = saidBy(node)
      for (const pattern of text) if (!WRAPPER.test(pattern)) found.set(pattern, name)
      typescript.forEachChild(node, visit)
    }
    visit(file)
  }
  return found
}

/** Class and possible texts of the error that an expression makes; no text when it makes none, or repeats one. */
function saidBy(node) {
  const name = node.expression?.getText()
  if (typescript.isNewExpression(node) && /^\w*Error$/.test(name) && node.arguments.length > 0 && name !== 'AggregateError') {
    return { name, text: patterns(node.arguments[0]) }
  }
  if (typescript.isCallExpression(node) && name === SAYER) {
    return { name: 'Error', text: node.arguments.map(patterns).reduce((keys, whats) => keys.flatMap(key => whats.map(what => `${key} must be ${what}`))) }
  }
  // The text of an aggregate is its caller's.
  if (typescript.isCallExpression(node) && name === 'throwAll') return { name: 'AggregateError', text: patterns(node.arguments[1]) }
  return { name, text: [] }
}

/** Every form that an expression's text can have. */
function patterns(node) {
  if (typescript.isStringLiteralLike(node)) return [node.text]
  if (typescript.isConditionalExpression(node)) return [...patterns(node.whenTrue), ...patterns(node.whenFalse)]
  if (typescript.isParenthesizedExpression(node)) return patterns(node.expression)
  if (typescript.isTemplateExpression(node)) {
    return [node.head.text + node.templateSpans.map(span => `…${span.literal.text}`).join('')]
  }
  if (typescript.isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.PlusToken) {
    return patterns(node.left).flatMap(left => patterns(node.right).map(right => left + right))
  }
  // Lines that are joined: the first says what is wrong.
  if (typescript.isCallExpression(node) && node.getText().startsWith('[')) return patterns(node.expression.expression.elements[0])
  return ['…']
}
