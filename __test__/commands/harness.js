/**
 * Runs a piece of a harness in a Node process of its own: how it exits, what it prints, what it costs.
 * @module test/commands/harness
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { PATIENCE_MS } from './world.js'
import { within } from '../support/deadline.js'

const FIXTURE = fileURLToPath(new URL('fixtures/harness.js', import.meta.url))

/**
 * Starts a harness.
 * @param {import('./world.js').World} world its server is used
 * @param {(world: import('./world.js').World, lib: object) => unknown} body runs there: it sees its parameters and globals only
 * @param {object} [options]
 * @param {object} [options.config] of the provider
 * @param {string[]} [options.node] options of Node
 * @param {object} [options.env] further variables
 * @param {boolean} [options.lazy] the body composes by itself
 * @returns {Harness}
 */
export function startHarness(world, body, { config = {}, node = [], env = {}, lazy = false } = {}) {
  const { kind, apiUrl, sandboxUrl, apiKey } = world.server
  const input = JSON.stringify({ server: { kind, apiUrl, sandboxUrl, apiKey }, config, body: body.toString(), lazy })
  const { NODE_TEST_CONTEXT, ...inherited } = process.env
  const child = spawn(process.execPath, [...node, FIXTURE, input], { stdio: ['pipe', 'pipe', 'pipe'], env: { ...inherited, ...env } })
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', chunk => { text[name] += chunk })
  const closed = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code, signal, ...text }))
  })
  return { child, text, ended: (ms = 2 * PATIENCE_MS) => within(closed, ms, 'the end of a harness').finally(() => child.kill('SIGKILL')) }
}

/**
 * Runs a harness to its end.
 * @returns {Promise<{ code: number | null, signal: string | null, stdout: string, stderr: string }>}
 */
export function runHarness(world, body, options = {}) {
  return startHarness(world, body, options).ended(options.ms)
}

/**
 * @typedef {object} Harness
 * @property {import('node:child_process').ChildProcess} child
 * @property {{ stdout: string, stderr: string }} text what it has printed so far
 * @property {(ms?: number) => Promise<{ code: number | null, signal: string | null, stdout: string, stderr: string }>} ended
 */
