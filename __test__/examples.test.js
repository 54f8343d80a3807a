import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { FILES } from './support/composition.js'

/** The entries of a composition file, line by line; comments say which is which. */
const entries = file => readFileSync(file, 'utf8').split('\n').filter(line => !line.startsWith('#'))

test('C1 the example compositions differ in one line, the name of the provider', () => {
  const [ours, theirs] = [entries(FILES.native), entries(FILES.ts)]
  assert.equal(ours.length, theirs.length)
  const differing = ours.map((line, i) => [line, theirs[i]]).filter(([a, b]) => a !== b)
  assert.deepEqual(differing, [['  name: dsh-subprocess-native', "  name: '@deepseek-ai/dsh-subprocess-e2b'"]])
})
