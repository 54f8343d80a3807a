#!/usr/bin/env node
/**
 * Tries one composition under one pair of packages.
 *
 *   node examples/compositions/run.js NAME [--pair original|mixed|ours] [--json]
 *
 * With `--json` a line of JSON for each step as it ends, and one with the times.
 * On the server of E2B_API_URL, E2B_SANDBOX_URL, E2B_API_KEY (E2B's own with the key alone), else on a `sandboxd` of its own.
 */
import { parseArgs } from 'node:util'
import { serverEnvironment, startServer } from '../../__test__/support/server.js'
import { PAIRS } from './pairs.js'
import { SCENARIOS, tryOut } from './scenarios.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { pair: { type: 'string', default: 'ours' }, json: { type: 'boolean', default: false } },
})
const scenario = SCENARIOS.find(({ name }) => name === positionals[0])
const pair = PAIRS.find(({ name }) => name === values.pair)
if (scenario === undefined || pair === undefined) {
  console.error(`usage: run.js ${SCENARIOS.map(({ name }) => name).join('|')} [--pair ${PAIRS.map(({ name }) => name).join('|')}] [--json]`)
  process.exit(2)
}

const server = process.env.E2B_API_KEY === undefined ? await startServer() : undefined
if (server !== undefined) Object.assign(process.env, serverEnvironment(server))
let failed = false
const times = await tryOut(scenario, pair, async (step, action) => {
  const start = performance.now()
  const reason = await action().then(() => undefined, error => error ?? new Error('nothing said'))
  const ms = Math.round(performance.now() - start)
  const error = reason && String(reason.message ?? reason).replaceAll(/\s+/g, ' ').slice(0, 300)
  failed ||= error !== undefined
  console.log(values.json ? JSON.stringify({ step, ms, error }) : `${error === undefined ? 'ok  ' : 'FAIL'} ${step} (${ms} ms)${error === undefined ? '' : `: ${error}`}`)
})
await server?.stop()
if (values.json) console.log(JSON.stringify({ times }))
// What a failed step has left in this process must not keep it.
process.exit(failed ? 1 : 0)
