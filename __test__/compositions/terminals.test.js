import { test } from 'node:test'
import { terminals } from '../../examples/compositions/terminals.js'
import { PROMISED, tried } from './tried.js'

for (const pair of PROMISED) {
  test(`C1 C52 an agent's persistent terminals work in a whole composition (owner: ${pair.owner})`, t => tried(t, terminals, pair))
}
