/**
 * The server that a test, the demo or the bench runs against: a `sandboxd` of its own, or one that the
 * environment names.
 * @module test/support/server
 */
import { startSandboxd } from './sandboxd.js'

/**
 * @typedef {object} Server
 * @property {'sandboxd' | 'external'} kind
 * @property {string} apiUrl the control plane
 * @property {string} sandboxUrl the edge, one URL before every sandbox
 * @property {string} apiKey
 * @property {number} [pid] of our own sandboxd
 * @property {() => string} log the end of its standard error
 * @property {() => Promise<void>} stop ends our own; leaves an external one alone
 */

/**
 * Starts `sandboxd`, or takes the server of `DSH_TEST_E2B_API_URL`, `DSH_TEST_E2B_SANDBOX_URL` and
 * `DSH_TEST_E2B_API_KEY` when the first is set.
 * @param {string[]} [args] further arguments for `sandboxd serve`
 * @returns {Promise<Server>}
 */
export async function startServer(args = []) {
  const { DSH_TEST_E2B_API_URL: apiUrl, DSH_TEST_E2B_SANDBOX_URL: sandboxUrl, DSH_TEST_E2B_API_KEY: apiKey } = process.env
  if (apiUrl === undefined) return startSandboxd(args)
  if (sandboxUrl === undefined || apiKey === undefined) {
    throw new Error('DSH_TEST_E2B_API_URL needs DSH_TEST_E2B_SANDBOX_URL and DSH_TEST_E2B_API_KEY beside it')
  }
  return { kind: 'external', apiUrl, sandboxUrl, apiKey, log: () => '', stop: async () => {} }
}

/**
 * The environment by which the E2B SDK, and so every owner, finds a server.
 * @param {Pick<Server, 'apiUrl' | 'sandboxUrl' | 'apiKey'>} server
 * @returns {Record<string, string>}
 */
export function serverEnvironment({ apiUrl, sandboxUrl, apiKey }) {
  return { E2B_API_URL: apiUrl, E2B_SANDBOX_URL: sandboxUrl, E2B_API_KEY: apiKey }
}
