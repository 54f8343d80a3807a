import { test } from 'node:test'
import { languageServer } from '../../examples/compositions/language-server.js'
import { PROMISED, tried } from './tried.js'

for (const pair of PROMISED) {
  test(`C1 C15 C20 a real language server works over the original client (owner: ${pair.owner})`, t => tried(t, languageServer, pair))
}
