#!/usr/bin/env node
/**
 * How long a load takes to become a ready sandbox: the original owner and ours, on the same server in the same run.
 *
 *   node bench/owner.mjs [--rounds N]
 *
 * Each sample is a process of its own (a harness loads its owner once, with nothing warm); rounds are interleaved; figures
 * are medians in ms from the load of the plugin to the answer of `getSandbox()`. The round trip is that of a line before
 * both servers. A third column is the create request alone: what no owner can do without.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openLine } from '../__test__/support/line.js'
import { serverEnvironment, startServer } from '../__test__/support/server.js'

const ROUND_TRIPS_MS = [0, 50]
const OWNERS = { create: undefined, original: '@deepseek-ai/dsh-e2b', ours: 'dsh-subprocess-native/e2b' }

if (process.send !== undefined) await sample(process.argv[2])
else await compare()

async function sample(name) {
  const took = OWNERS[name] === undefined ? await createAlone() : await loadOwner(OWNERS[name])
  process.send(took)
  process.disconnect()
}

async function loadOwner(name) {
  await import('../examples/node20.js')
  const { Context } = await import('@deepseek-ai/cordis')
  const { default: Owner } = await import(name)
  const ctx = new Context()
  const start = performance.now()
  const fiber = await ctx.plugin(Owner, {})
  await ctx.e2b.getSandbox()
  const took = performance.now() - start
  await fiber.dispose()
  return took
}

async function createAlone() {
  const { E2B_API_URL: url, E2B_API_KEY: key } = process.env
  const headers = { 'X-API-KEY': key, 'content-type': 'application/json' }
  const start = performance.now()
  const answer = await fetch(`${url}/sandboxes`, { method: 'POST', headers, body: '{"templateID":"base","secure":true,"timeout":300}' })
  const { sandboxID } = await answer.json()
  const took = performance.now() - start
  await fetch(`${url}/sandboxes/${sandboxID}`, { method: 'DELETE', headers })
  return took
}

async function compare() {
  const { values } = parseArgs({ options: { rounds: { type: 'string', default: '9' } } })
  const server = await startServer()
  try {
    for (const roundTrip of ROUND_TRIPS_MS) {
      const lines = await Promise.all([server.apiUrl, server.sandboxUrl].map(url => openLine(url, { delayMs: roundTrip / 2 })))
      const environment = { ...process.env, ...serverEnvironment({ ...server, apiUrl: lines[0].url, sandboxUrl: lines[1].url }) }
      const samples = Object.fromEntries(Object.keys(OWNERS).map(name => [name, []]))
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const name of Object.keys(OWNERS)) samples[name].push(await inChild(name, environment))
      }
      const [create, original, ours] = Object.values(samples).map(median)
      const shown = ms => `${ms.toFixed(0)} ms`
      console.log(`round trip ${roundTrip} ms: original ${shown(original)}, ours ${shown(ours)} (${(ours / original).toFixed(2)}×), the create alone ${shown(create)}`)
      await Promise.all(lines.map(line => line.close()))
    }
  } finally {
    await server.stop()
  }
}

function inChild(name, env) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [name], { env })
    child.once('message', resolve)
    child.once('exit', code => reject(new Error(`${name}: exit ${code} without a figure`)))
  })
}

function median(numbers) {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]
}
