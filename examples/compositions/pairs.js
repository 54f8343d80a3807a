/**
 * Which packages give a composition its sandbox and its commands: the original ones or ours.
 * @module examples/compositions/pairs
 */

/** The rows that differ between the pairs, by id, and the names that they can have. */
const ROWS = {
  e2b: { original: '@deepseek-ai/dsh-e2b', ours: 'dsh-subprocess-native/e2b' },
  subprocess: { original: '@deepseek-ai/dsh-subprocess-e2b', ours: 'dsh-subprocess-native' },
}

/**
 * @typedef {object} Pair
 * @property {string} name as the command line and the tables call it
 * @property {'original' | 'ours'} owner
 * @property {'original' | 'ours'} provider
 */

/** @type {Pair[]} */
export const PAIRS = [
  { name: 'original', owner: 'original', provider: 'original' },
  { name: 'mixed', owner: 'original', provider: 'ours' },
  { name: 'ours', owner: 'ours', provider: 'ours' },
]

/**
 * A composition under a pair: the `name:` lines of the two rows change, and nothing else.
 * @param {string} text of the composition, which names ours
 * @param {Pair} pair
 * @returns {string}
 */
export function under(text, { owner, provider }) {
  return renamed(renamed(text, 'e2b', owner), 'subprocess', provider)
}

function renamed(text, id, whose) {
  const row = `- id: ${id}\n  name: ${ROWS[id].ours}\n`
  const parts = text.split(row)
  if (parts.length !== 2) throw new Error(`the composition has ${parts.length - 1} rows ${JSON.stringify(row)}, not one`)
  return parts.join(row.replace(ROWS[id].ours, `'${ROWS[id][whose]}'`))
}
