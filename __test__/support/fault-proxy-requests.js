/**
 * The part of the fault proxy that breaks requests. HTTP/1.1, or both versions behind TLS; HTTP/1.1 to the server.
 * @module test/support/fault-proxy-requests
 */
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import { reset } from './reset.js'

/** An end-of-stream message of the Connect protocol without an error. */
const END_FRAME = Buffer.from([2, 0, 0, 0, 2, ...Buffer.from('{}')])
/** Headers that belong to one connection. */
const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'proxy-connection', 'http2-settings'])

/**
 * @typedef {object} Rule one fault; the first that fits a request is taken
 * @property {string} [path] start of the path; default every path
 * @property {number} [times] fits so many requests; default all
 * @property {number} [refuse] answered with this status, and the server never hears of it
 * @property {boolean} [buffer] the server gets the body when it is complete
 * @property {boolean} [swallow] the body is taken, the server never hears of it, and no answer comes
 * @property {'rst' | 'silence' | number} [lose] the server answers, and the client gets a reset, nothing or this status instead
 * @property {'clean' | 'frame' | 'fin' | 'rst'} [end] the answer ends too early: as if complete, with an end-of-stream message
 *   before that, or with its connection
 * @property {number} [afterMs] when, for `end`
 *
 * @typedef {object} Seen one request
 * @property {string} method
 * @property {string} path
 * @property {Record<string, string>} headers
 * @property {string} httpVersion
 * @property {Buffer[]} body as far as it came, for paths of short calls
 */

/**
 * @param {string} target URL
 * @param {{ tls?: import('./fault-proxy-tls.js').Certificates, protocols?: string[] }} options
 * @returns {Promise<RequestFaults>}
 */
export async function openRequestFaults(target, { tls, protocols = ['h2', 'http/1.1'] }) {
  const server = listener(tls, protocols)
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  return new RequestFaults(server, new URL(target))
}

function listener(tls, protocols) {
  if (tls === undefined) return http.createServer()
  const { key, cert } = tls
  if (!protocols.includes('h2')) return https.createServer({ key, cert })
  return http2.createSecureServer({ key, cert, allowHTTP1: protocols.includes('http/1.1') })
}

class RequestFaults {
  #server
  #target
  #sessions = new Set()
  #sockets = new Set()
  #agent = new http.Agent({ keepAlive: false })
  /** @type {Rule[]} */ rules = []
  /** @type {Seen[]} */ log = []
  underWay = 0

  constructor(server, target) {
    this.#server = server
    this.#target = target
    server.on('request', (request, response) => this.#serve(request, response))
    server.on('session', session => {
      this.#sessions.add(session)
      session.on('error', () => {}).on('close', () => this.#sessions.delete(session))
    })
    for (const event of ['connection', 'secureConnection']) {
      server.on(event, socket => {
        this.#sockets.add(socket)
        socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket))
      })
    }
    // Streams of commands last as long as those.
    Object.assign(server, { requestTimeout: 0, headersTimeout: 0, timeout: 0 })
  }

  get port() {
    return this.#server.address().port
  }

  goAway() {
    for (const session of this.#sessions) session.goaway()
  }

  close() {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#agent.destroy()
  }

  #serve(request, response) {
    const { method, url, headers, httpVersion } = request
    const [path] = url.split('?')
    const seen = { method, path, headers, httpVersion, body: [] }
    this.log.push(seen)
    this.underWay++
    response.once('close', () => { this.underWay-- })
    for (const end of [request, response]) end.on('error', () => {})
    if (path.endsWith('/SendInput') || path.endsWith('/Start')) request.on('data', chunk => seen.body.push(chunk))
    const rule = this.#ruleOf(path)
    if (rule.swallow) return request.resume()
    if (rule.refuse !== undefined) return refuse(request, response, rule.refuse)
    if (rule.buffer) {
      const parts = []
      request.on('data', part => parts.push(part))
      request.once('end', () => this.#forward(request, response, rule, upstream => upstream.end(Buffer.concat(parts))))
      return
    }
    this.#forward(request, response, rule, upstream => request.pipe(upstream))
  }

  #ruleOf(path) {
    const rule = this.rules.find(({ path: start = '', times = Infinity }) => times > 0 && path.startsWith(start))
    if (rule?.times !== undefined) rule.times--
    return rule ?? {}
  }

  #forward(request, response, rule, sendBody) {
    const { hostname: host, port } = this.#target
    const headers = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !name.startsWith(':') && !HOP.has(name)))
    headers.host ??= request.headers[':authority']
    const upstream = http.request({ host, port, method: request.method, path: request.url, headers, agent: this.#agent })
    upstream.on('error', () => drop(response, 'rst'))
    upstream.on('response', answer => {
      answer.on('error', () => drop(response, 'rst'))
      this.#answer(answer, response, rule)
    })
    response.once('close', () => upstream.destroy())
    sendBody(upstream)
  }

  #answer(answer, response, rule) {
    if (rule.lose !== undefined) {
      // The server has done it: its answer begins.
      answer.once('data', () => lose(response, rule.lose)).once('end', () => lose(response, rule.lose)).resume()
      return
    }
    const headers = Object.fromEntries(Object.entries(answer.headers).filter(([name]) => !HOP.has(name)))
    response.writeHead(answer.statusCode, headers)
    response.flushHeaders?.()
    answer.pipe(response)
    if (rule.end !== undefined) setTimeout(() => cutShort(answer, response, rule.end), rule.afterMs ?? 0)
  }
}

function refuse(request, response, status) {
  request.resume()
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ code: status, message: `the proxy says ${status}` }))
}

function lose(response, how) {
  if (how === 'silence' || response.writableEnded) return
  if (how === 'rst') return drop(response, 'rst')
  response.writeHead(how, { 'content-type': 'text/plain' })
  response.end('the proxy lost the answer')
}

function cutShort(answer, response, how) {
  answer.unpipe(response)
  answer.resume()
  if (how === 'frame') response.write(END_FRAME)
  if (how === 'frame' || how === 'clean') response.end()
  else drop(response, how)
}

/** Breaks the connection of an answer, or on HTTP/2 its stream. */
function drop(response, how) {
  if (response.stream !== undefined) return void response.stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
  const { socket } = response
  if (socket === null) return
  if (how === 'fin') socket.end(() => socket.destroy())
  // What is encrypted has no reset of its own; without its last word it is as broken.
  else if (socket.encrypted) socket.destroy()
  else reset(socket)
}
