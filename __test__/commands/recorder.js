/**
 * A proxy before the edge that notes which requests come, with their headers.
 * @module test/commands/recorder
 */
import http from 'node:http'

/**
 * @param {string} target the edge
 * @returns {Promise<{ url: string, requests: { method: string, url: string, headers: Record<string, string> }[], close: () => Promise<void> }>}
 */
export async function recordRequests(target) {
  const { hostname, port } = new URL(target)
  const requests = []
  const server = http.createServer((request, response) => {
    const { method, url, headers } = request
    requests.push({ method, url, headers })
    const onward = http.request({ hostname, port, method, path: url, headers, agent: false }, answer => {
      response.writeHead(answer.statusCode, answer.headers)
      response.flushHeaders()
      answer.pipe(response)
      answer.on('error', () => response.destroy())
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    requests,
    async close() {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}
