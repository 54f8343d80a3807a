import { test } from 'node:test'
import { shell } from '../../examples/compositions/shell.js'
import { PROMISED, tried } from './tried.js'

for (const pair of PROMISED) {
  test(`C1 an agent's commands, its file system and its bash tool work as over the original (owner: ${pair.owner})`, t => tried(t, shell, pair))
}
