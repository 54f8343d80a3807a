/**
 * Every composition that is tried, and how one is tried.
 * @module examples/compositions/scenarios
 */
import { languageServer } from './language-server.js'
import { reload } from './reload.js'
import { shell } from './shell.js'
import { smoke } from './smoke.js'
import { subAgents } from './sub-agents.js'
import { terminals } from './terminals.js'
import { STEP_MS, within, World } from './world.js'

/** In the order of the table. */
export const SCENARIOS = [shell, terminals, languageServer, subAgents, smoke, reload]

/**
 * Tries a composition under a pair: load, every step, disposal. A step that fails stops no other, a load does. A scenario that
 * loads its composition itself (`loads: false`) gives the times as the result of a step.
 * @param {object} scenario
 * @param {import('./pairs.js').Pair} pair
 * @param {(step: string, action: () => Promise<void>) => Promise<void>} attempt runs one step; what it throws ends the run
 * @returns {Promise<{ readyMs: number, firstMs: number }>} from the load to the sandbox, and to the outcome of a first command
 */
export async function tryOut(scenario, pair, attempt) {
  const world = new World(scenario, pair)
  let times
  let loaded = scenario.loads === false
  try {
    await world.prepare()
    if (!loaded) await attempt('it loads, and a first command runs', async () => { times = await world.load(); loaded = true })
    for (const [step, action] of loaded ? Object.entries(scenario.steps) : []) {
      await attempt(step, async () => { times = await within(action(world), STEP_MS, step) ?? times })
    }
  } finally {
    await attempt('it is disposed', () => world.dispose())
  }
  return times
}
