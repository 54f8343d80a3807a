#!/usr/bin/env node
/**
 * `npm run demo`: real work of a harness' bash in a sandbox, on a fresh machine, without an account.
 *
 *   node scripts/demo.mjs [--provider native|ts] [--no-build]
 *
 * Needs Node 20 or later, Rust and a C compiler. A server of your own: DSH_TEST_E2B_API_URL,
 * DSH_TEST_E2B_SANDBOX_URL, DSH_TEST_E2B_API_KEY. Exit code 0 when every step gave what it should.
 */
import { parseArgs } from 'node:util'
import { build, install } from './demo/prepare.js'

const { values } = parseArgs({
  options: { provider: { type: 'string', default: 'native' }, 'no-build': { type: 'boolean', default: false } },
})
const { provider } = values
if (!['native', 'ts'].includes(provider)) {
  console.error('--provider takes native or ts')
  process.exit(2)
}
install()
if (!values['no-build']) build(provider)
// Only now are the peers there to be imported.
const { demo } = await import('./demo/run.js')
process.exitCode = await demo(provider)
