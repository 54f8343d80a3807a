/**
 * A composition of `examples/compositions` as a test: every step under the pairs that are promised.
 * @module test/compositions/tried
 */
import { PAIRS } from '../../examples/compositions/pairs.js'
import { tryOut } from '../../examples/compositions/scenarios.js'
import { serverEnvironment, startServer } from '../support/server.js'

/** Our provider under either owner: what the original pair can do is in `docs/compositions.md`. */
export const PROMISED = PAIRS.filter(({ provider }) => provider === 'ours')

/**
 * Tries a scenario in a test, on a server of its own.
 * @param {import('node:test').TestContext} t
 * @param {object} scenario
 * @param {import('../../examples/compositions/pairs.js').Pair} pair
 */
export async function tried(t, scenario, pair) {
  const server = await startServer()
  Object.assign(process.env, serverEnvironment(server))
  try {
    await tryOut(scenario, pair, (step, action) => t.test(step, action))
  } finally {
    await server.stop()
  }
}
