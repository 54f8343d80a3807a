/**
 * A CONNECT proxy that wants credentials: the only way to the host names that it knows.
 * @module test/support/fault-proxy-connect
 */
import http from 'node:http'
import net from 'node:net'

/**
 * @param {object} options
 * @param {string} options.user
 * @param {string} options.password
 * @param {Record<string, string>} [options.names] addresses by host name; others are looked up as usual
 * @returns {Promise<{ url: string, bareUrl: string, tunnels: string[], refused: number, close: () => void }>}
 *   `url` with credentials, `bareUrl` without; `tunnels`: where to, in order
 */
export async function openConnectProxy({ user, password, names = {} }) {
  const wanted = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const sockets = new Set()
  const server = http.createServer((_request, response) => response.writeHead(405).end())
  const proxy = { tunnels: [], refused: 0 }
  server.on('connect', (request, client) => {
    sockets.add(client)
    client.on('error', () => {}).on('close', () => sockets.delete(client))
    if (request.headers['proxy-authorization'] !== wanted) {
      proxy.refused++
      return client.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n')
    }
    proxy.tunnels.push(request.url)
    const { hostname, port } = new URL(`http://${request.url}`)
    const remote = net.connect({ host: names[hostname] ?? hostname, port: Number(port || 443), noDelay: true }, () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      client.pipe(remote).pipe(client)
    })
    client.on('close', () => remote.destroy())
    remote.on('error', () => client.destroy()).on('close', () => client.destroy())
  })
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  return Object.assign(proxy, {
    url: `http://${user}:${password}@127.0.0.1:${port}`,
    bareUrl: `http://127.0.0.1:${port}`,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  })
}
