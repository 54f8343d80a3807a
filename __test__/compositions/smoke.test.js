import { test } from 'node:test'
import { smoke } from '../../examples/compositions/smoke.js'
import { PROMISED, tried } from './tried.js'

for (const pair of PROMISED) {
  test(`D5 C64 the harness' own loader smoke test passes, quietly and to the end of its process (owner: ${pair.owner})`, t => tried(t, smoke, pair))
}
