/**
 * Every composition that is tried, and how one is tried.
 * @module examples/compositions/scenarios
 */
import { languageServer } from './language-server.js'
import { shell } from './shell.js'
import { subAgents } from './sub-agents.js'
import { terminals } from './terminals.js'
import { STEP_MS, within, World } from './world.js'

/** In the order of the table. */
export const SCENARIOS = [shell, terminals, languageServer, subAgents]

/**
 * @typedef {object} Result
 * @property {string} step
 * @property {number} ms
 * @property {string} [error] why it failed
 */

/**
 * Tries a composition under a pair: load, every step, disposal. A step that fails stops no other, a load does.
 * @param {object} scenario
 * @param {import('./pairs.js').Pair} pair
 * @param {(step: string, action: () => Promise<void>) => Promise<void>} attempt runs one step; what it throws ends the run
 * @returns {Promise<{ readyMs: number, firstMs: number }>} from the load to the sandbox, and to the outcome of a first command
 */
export async function tryOut(scenario, pair, attempt) {
  const world = new World(scenario, pair)
  let times
  try {
    await attempt('it loads, and a first command runs', async () => { times = await world.load() })
    if (times !== undefined) {
      for (const [step, action] of Object.entries(scenario.steps)) await attempt(step, () => within(action(world), STEP_MS, step))
    }
  } finally {
    await attempt('it is disposed', () => world.dispose())
  }
  return times
}
