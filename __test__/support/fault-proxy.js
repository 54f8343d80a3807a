/**
 * A faulty way to a server: a proxy that breaks connections and requests as edges, proxies and lines do.
 *
 *   client ── bytes (fault-proxy-bytes.js) ── requests (fault-proxy-requests.js) ── line (line.js) ── server
 *
 * By hand, it prints one line of JSON when it listens and runs until its standard input ends:
 *
 *   node __test__/support/fault-proxy.js --target URL --mode MODE [--ms N] [--bytes N] [--status N] [--path PREFIX]
 *
 * @module test/support/fault-proxy
 */
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { ByteFaults, openByteFaults } from './fault-proxy-bytes.js'
import { openConnectProxy } from './fault-proxy-connect.js'
import { openRequestFaults } from './fault-proxy-requests.js'
import { makeCertificates } from './fault-proxy-tls.js'
import { openLine } from './line.js'

/**
 * Opens a way to `target` without faults.
 * @param {string} target URL of the server, http
 * @param {object} [options]
 * @param {import('./line.js').LineOptions} [options.line] delay and rate
 * @param {import('./fault-proxy-tls.js').Certificates} [options.tls] https at the front
 * @param {string[]} [options.protocols] offered by ALPN: `h2`, `http/1.1`; both by default
 * @param {string} [options.host] in the URL; default 127.0.0.1
 * @returns {Promise<FaultProxy>}
 */
export async function openFaultProxy(target, { line: lineOptions, tls, protocols, host = '127.0.0.1' } = {}) {
  const line = await openLine(target, lineOptions)
  const requests = await openRequestFaults(line.url, { tls, protocols })
  const bytes = await openByteFaults(requests.port)
  return new FaultProxy({ line, requests, bytes, url: `${tls ? 'https' : 'http'}://${host}:${bytes.port}` })
}

/** One faulty way. */
export class FaultProxy {
  #parts

  constructor({ line, requests, bytes, url }) {
    this.#parts = { line, requests, bytes }
    /** What clients connect to. */
    this.url = url
  }

  /** What happens to bytes, from now on. @param {Partial<ByteFaults>} faults */
  set bytes(faults) {
    this.#parts.bytes.faults = new ByteFaults(faults)
  }

  /** What happens to requests, from now on; the first rule that fits. @param {import('./fault-proxy-requests.js').Rule[]} rules */
  set rules(rules) {
    this.#parts.requests.rules = rules
  }

  /** The server is not heard any more behind this proxy, which itself goes on answering: pings, say. */
  set upstreamSilent(yes) {
    this.#parts.line.silent = yes
  }

  /** Every request so far. */
  get requests() {
    return this.#parts.requests.log
  }

  /** Bytes carried to and from the server so far. @returns {{ up: number, down: number }} */
  get carried() {
    return this.#parts.line.bytes
  }

  /** Client connections open now. */
  get connections() {
    return this.#parts.bytes.open
  }

  /** Requests that are under way now. */
  get underWay() {
    return this.#parts.requests.underWay
  }

  /** Closes every connection now. @param {'rst' | 'fin'} [how] */
  cut(how) {
    this.#parts.bytes.cut(how)
  }

  /** Forwards nothing more on the connections that are open now, and closes none; new ones work. */
  freeze() {
    this.#parts.bytes.freeze()
  }

  /** Asks HTTP/2 clients to use another connection from now on. */
  goAway() {
    this.#parts.requests.goAway()
  }

  async close() {
    this.#parts.bytes.close()
    this.#parts.requests.close()
    await this.#parts.line.close()
  }
}

/** What `--mode` knows: how to open, and what to break then. */
export const MODES = {
  none: () => ({}),
  'cut-every': ({ ms }) => ({ bytes: { cutAfterMs: ms } }),
  'cut-random': ({ ms }) => ({ bytes: { cutAfterMs: ms, random: true } }),
  'cut-idle': ({ ms }) => ({ bytes: { cutIdleMs: ms } }),
  'fin-every': ({ ms }) => ({ bytes: { cutAfterMs: ms, how: 'fin' } }),
  'half-open': ({ ms }) => ({ bytes: { freezeAfterMs: ms } }),
  trickle: () => ({ bytes: { trickle: true } }),
  delay: ({ ms }) => ({ options: { line: { delayMs: ms } } }),
  throttle: ({ bytes }) => ({ options: { line: { bytesPerSecond: bytes } } }),
  refuse: ({ path, status }) => ({ rules: [{ path, refuse: status }] }),
  buffer: ({ path }) => ({ rules: [{ path, buffer: true }] }),
  swallow: ({ path }) => ({ rules: [{ path, swallow: true }] }),
  lose: ({ path }) => ({ rules: [{ path, lose: 'rst' }] }),
  'end-clean': ({ path, ms }) => ({ rules: [{ path, end: 'clean', afterMs: ms }] }),
  'end-frame': ({ path, ms }) => ({ rules: [{ path, end: 'frame', afterMs: ms }] }),
  'http1-tls': () => ({ options: { tls: makeCertificates(), protocols: ['http/1.1'] } }),
  tls: () => ({ options: { tls: makeCertificates() } }),
}

/**
 * Opens a way with one of the {@link MODES}.
 * @param {string} target
 * @param {keyof typeof MODES} mode
 * @param {{ ms?: number, bytes?: number, status?: number, path?: string }} [values]
 * @returns {Promise<FaultProxy>}
 */
export async function openMode(target, mode, { ms = 1000, bytes = 1024 * 1024, status = 415, path = '/process.Process/StreamInput' } = {}) {
  if (!(mode in MODES)) throw new Error(`there is no mode ${mode}; there are ${Object.keys(MODES).join(', ')}, connect`)
  const { options, bytes: byteFaults, rules } = MODES[mode]({ ms, bytes, status, path })
  const proxy = await openFaultProxy(target, options)
  if (byteFaults !== undefined) proxy.bytes = byteFaults
  if (rules !== undefined) proxy.rules = rules
  return proxy
}

async function main() {
  const { values } = parseArgs({
    options: {
      target: { type: 'string' }, mode: { type: 'string', default: 'none' }, path: { type: 'string' },
      ms: { type: 'string' }, bytes: { type: 'string' }, status: { type: 'string' },
      user: { type: 'string', default: 'user' }, password: { type: 'string', default: 'password' },
    },
  })
  const number = text => (text === undefined ? undefined : Number(text))
  const { mode, target, path, user, password } = values
  const proxy = mode === 'connect'
    ? await openConnectProxy({ user, password })
    : await openMode(target, mode, { path, ms: number(values.ms), bytes: number(values.bytes), status: number(values.status) })
  process.stdout.write(`${JSON.stringify({ url: proxy.url, mode })}\n`)
  process.stdin.resume().once('end', () => process.exit())
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
