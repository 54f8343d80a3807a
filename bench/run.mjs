#!/usr/bin/env node
/**
 * `npm run bench`: the original provider, ours and the bare limit, side by side in one run.
 *
 *   node bench/run.mjs local [--only REGEX] [--rounds N]      the local provider, see `bench/local.mjs`
 *   node bench/run.mjs [--only REGEX] [--quick] [--rounds N] [--subjects bare,ts,native]
 *
 * Each subject is measured in a process of its own; rounds are interleaved; figures are medians. Runs against a
 * `sandboxd` of its own, or the server of DSH_TEST_E2B_API_URL, DSH_TEST_E2B_SANDBOX_URL, DSH_TEST_E2B_API_KEY.
 */
import { parseArgs } from 'node:util'
import { startServer } from '../__test__/support/server.js'
import { measureRow } from './measure.js'
import { render, save } from './report.js'
import { rows } from './rows/index.js'

if (process.argv[2] === 'local') {
  await import('./local.mjs')
  process.exit()
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '.' },
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    subjects: { type: 'string', default: 'bare,ts,native' },
  },
})
const options = {
  quick: values.quick,
  rounds: Number(values.rounds ?? (values.quick ? 1 : 5)),
  subjects: values.subjects.split(','),
}
const chosen = rows.filter(row => new RegExp(values.only).test(row.name) && !(values.quick && row.long))
if (chosen.length === 0) {
  console.error(`--only ${values.only}: none of ${rows.map(row => row.name).join(' ')}`)
  process.exit(2)
}

const server = await startServer()
const results = []
try {
  for (const row of chosen) results.push(await measureRow(row, server, options))
} finally {
  await server.stop()
}
console.log(`\n${render(results)}\n\n${save(results, { server: server.kind, ...options })}`)
