/**
 * Counts the HTTP requests that reach sandboxes: by the hook of `sandboxd`, else by a line before the edge.
 * @module test/support/meter
 */
import { openLine } from './line.js'

/**
 * @param {import('./server.js').Server} server
 * @returns {Promise<Meter>}
 */
export async function openMeter(server) {
  if (server.kind === 'sandboxd') {
    return { server, requests: () => hookCount(server), close: async () => {} }
  }
  const line = await openLine(server.sandboxUrl)
  return {
    server: { ...server, sandboxUrl: line.url },
    requests: async () => line.requests.total,
    close: () => line.close(),
  }
}

/** Requests to all sandboxes; those to the control plane are not counted. */
async function hookCount({ apiUrl, apiKey }) {
  const answer = await fetch(`${apiUrl}/_sandboxd/requests`, { headers: { 'X-API-KEY': apiKey } })
  if (!answer.ok) throw new Error(`sandboxd hook: ${answer.status} ${await answer.text()}`)
  const { sandboxes } = await answer.json()
  return Object.values(sandboxes).flatMap(routes => Object.values(routes)).reduce((sum, n) => sum + n, 0)
}

/**
 * @typedef {object} Meter
 * @property {import('./server.js').Server} server what to compose against, so that the requests are seen
 * @property {() => Promise<number>} requests so far
 * @property {() => Promise<void>} close
 */
