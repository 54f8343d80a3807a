/**
 * What the owner's tests share: one server a file, owners that go with it, a control plane that can be meddled with.
 * @module test/owner/support
 */
import http from 'node:http'
import { after } from 'node:test'
import { Context } from '@deepseek-ai/cordis'
import { Sandbox } from 'e2b'
import Owner from '../../e2b.js'
import { within } from '../support/deadline.js'
import { serverEnvironment, startServer } from '../support/server.js'

/** Nothing here takes longer than this. */
export const PATIENCE_MS = 20_000

/**
 * A server for the tests of this file, named by the environment as the SDK reads it.
 * @param {string[]} [args] for sandboxd
 */
export async function useServer(args) {
  const server = await startServer(args)
  Object.assign(process.env, serverEnvironment(server))
  after(() => server.stop())
  return server
}

/**
 * Loads an owner in a context of its own.
 * @param {object} [config]
 * @param {Function} [Class]
 * @returns {Promise<{ ctx: Context, owner: object, fiber: object, errors: unknown[], dispose: () => Promise<void> }>}
 */
export async function load(config = {}, Class = Owner) {
  const ctx = new Context()
  const errors = []
  ctx.logger.error = error => { errors.push(error) }
  const fiber = await ctx.plugin(Class, config)
  const dispose = () => within(fiber.dispose(), PATIENCE_MS, 'disposal of the owner')
  return { ctx, owner: ctx.e2b, fiber, errors, dispose }
}

/** Ids of the sandboxes that the server has, by `metadata`. */
export async function sandboxes(metadata) {
  const list = Sandbox.list({ query: { metadata } })
  const ids = []
  while (list.hasNext) ids.push(...(await list.nextItems()).map(({ sandboxId }) => sandboxId))
  return ids
}

/**
 * Whether the server can do more than create, show, prolong and kill: some stand-ins before a real daemon can't.
 * `DSH_TEST_E2B_COMPLETE=1` says that an external one can.
 * @param {import('../support/server.js').Server} server
 */
export function isComplete({ kind }) {
  return kind === 'sandboxd' || process.env.DSH_TEST_E2B_COMPLETE === '1'
}

/** The SDK's object for a sandbox as the control plane's answer to its create describes it. */
export function sandboxOf({ body }) {
  const { sandboxID: sandboxId, envdVersion, envdAccessToken, domain } = JSON.parse(body)
  return new Sandbox({ sandboxId, envdVersion, envdAccessToken, sandboxDomain: domain ?? undefined })
}

/**
 * A control plane in front of the server's own.
 * @param {string} target URL of the real one
 * @param {(request: { route: string, body: string, headers: object }, forward: () => Promise<Answer>) => Promise<Answer | undefined>} meddle
 *   makes the answer; none closes the connection
 * @returns {Promise<{ url: string, routes: string[], lives: Set<string>, close: () => void }>} `lives`: sandboxes that were
 *   created through it and not killed
 *
 * @typedef {{ status: number, body?: string, headers?: object }} Answer
 */
export async function openControl(target, meddle) {
  const routes = []
  const lives = new Set()
  const server = http.createServer(async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    const body = Buffer.concat(parts).toString()
    const route = `${request.method} ${request.url}`
    routes.push(route)
    const forward = async () => {
      const { host, connection, 'content-length': length, ...headers } = request.headers
      const answer = await fetch(target + request.url, { method: request.method, headers, body: body || undefined })
      const text = await answer.text()
      if (route === 'POST /sandboxes' && answer.ok) lives.add(JSON.parse(text).sandboxID)
      if (request.method === 'DELETE' && answer.ok) lives.delete(request.url.split('/').at(-1))
      return { status: answer.status, body: text, headers: { 'content-type': 'application/json' } }
    }
    const answer = await meddle({ route, body, headers: request.headers }, forward).catch(() => undefined)
    if (answer === undefined) return request.socket.destroy()
    response.writeHead(answer.status, answer.headers).end(answer.body)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  after(close)
  return { url: `http://127.0.0.1:${server.address().port}`, routes, lives, close }
}

/** An answer in the control plane's own words. */
export function refusal(status, extra = {}, headers = {}) {
  return { status, body: JSON.stringify({ code: status, message: `says ${status}`, ...extra }), headers: { 'content-type': 'application/json', ...headers } }
}

/** Runs `body` with variables of the environment changed. */
export async function withEnvironment(variables, body) {
  const before = Object.fromEntries(Object.keys(variables).map(name => [name, process.env[name]]))
  const set = values => {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
  set(variables)
  try {
    return await body()
  } finally {
    set(before)
  }
}
