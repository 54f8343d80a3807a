/**
 * The hook of `sandboxd`: counts, connections and faults of one sandbox.
 * @module test/commands/hook
 */

/**
 * @param {import('../support/server.js').Server} server one of our own
 */
export function hook({ apiUrl, apiKey }) {
  const ask = async (method, path, body) => {
    const answer = await fetch(`${apiUrl}/_sandboxd/${path}`, {
      method,
      headers: { 'X-API-KEY': apiKey, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`sandboxd hook: ${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  return {
    /** Requests by route of one sandbox so far. */
    requests: async sandboxId => (await ask('GET', 'requests')).sandboxes[sandboxId] ?? {},
    /** Open client connections of one sandbox. */
    connections: async sandboxId => {
      const all = await ask('GET', 'connections')
      return (Array.isArray(all) ? all : all.connections).filter(({ sandbox }) => sandbox === sandboxId)
    },
    /** Puts a plan of faults for one sandbox in force; `{}` is none. */
    faults: (sandboxId, plan) => ask('PUT', `faults/${sandboxId}`, plan),
    /** Closes a sandbox' connections now. */
    cut: (sandboxId, how = 'rst') => ask('POST', `cut/${sandboxId}`, { how }),
  }
}
