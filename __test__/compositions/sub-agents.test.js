import { test } from 'node:test'
import { subAgents } from '../../examples/compositions/sub-agents.js'
import { PROMISED, tried } from './tried.js'

for (const pair of PROMISED) {
  test(`C11 D22 sub-agents work whose backends want a process id at once (owner: ${pair.owner})`, t => tried(t, subAgents, pair))
}
