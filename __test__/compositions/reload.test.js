import { test } from 'node:test'
import { reload } from '../../examples/compositions/reload.js'
import { PROMISED, tried } from './tried.js'

for (const pair of PROMISED) {
  test(`C60 C61 C65 owner and provider are reloaded under running commands and leave nothing (owner: ${pair.owner})`, t => tried(t, reload, pair))
}
