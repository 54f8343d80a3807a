#!/usr/bin/env node
/**
 * How long a load takes to become a ready sandbox and the outcome of a first command: the original owner and provider and ours,
 * on the same server in the same run.
 *
 *   node bench/owner.mjs [--rounds N]
 *
 * Each sample is a process of its own (a harness loads its owner once, with nothing warm); rounds are interleaved; figures
 * are medians in ms from the load of the plugins to the answer of `getSandbox()`, and to the outcome of `true`, which is started
 * as soon as the plugins are loaded. The round trip is that of a line before both servers. Beside them the create request
 * alone: what no owner can do without.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openLine } from '../__test__/support/line.js'
import { serverEnvironment, startServer } from '../__test__/support/server.js'

const ROUND_TRIPS_MS = [0, 50]
const SUBJECTS = {
  create: undefined,
  original: ['@deepseek-ai/dsh-e2b', '@deepseek-ai/dsh-subprocess-e2b'],
  ours: ['dsh-subprocess-native/e2b', 'dsh-subprocess-native'],
}
const TRUE = { argv: ['true'], cwd: '/', graceMs: 1000, stdio: { stdin: 'ignore', stdout: { maxBytes: 1024 }, stderr: { maxBytes: 1024 } } }

if (process.send !== undefined) await sample(process.argv[2])
else await compare()

async function sample(name) {
  const took = SUBJECTS[name] === undefined ? { ready: await createAlone() } : await loadPair(...SUBJECTS[name])
  process.send(took)
  process.disconnect()
}

async function loadPair(ownerName, providerName) {
  await import('../examples/node20.js')
  const { Context } = await import('@deepseek-ai/cordis')
  const { default: Owner } = await import(ownerName)
  const { default: Provider } = await import(providerName)
  const ctx = new Context()
  const start = performance.now()
  const owner = await ctx.plugin(Owner, {})
  const provider = await ctx.plugin(Provider, {})
  const handle = ctx.subprocess.spawn(TRUE)
  const since = () => performance.now() - start
  const [ready, first] = await Promise.all([ctx.e2b.getSandbox().then(since), handle.done.then(since)])
  await provider.dispose()
  await owner.dispose()
  return { ready, first }
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
      const samples = Object.fromEntries(Object.keys(SUBJECTS).map(name => [name, []]))
      for (let round = 0; round < Number(values.rounds); round++) {
        for (const name of Object.keys(SUBJECTS)) samples[name].push(await inChild(name, environment))
      }
      const of = (name, what) => median(samples[name].map(sample => sample[what]))
      const shown = ms => `${ms.toFixed(0)} ms`
      for (const [what, words] of [['ready', 'sandbox ready'], ['first', 'first command done']]) {
        const [original, ours] = [of('original', what), of('ours', what)]
        console.log(`round trip ${roundTrip} ms, ${words}: original ${shown(original)}, ours ${shown(ours)} (${(ours / original).toFixed(2)}×)`)
      }
      console.log(`round trip ${roundTrip} ms, the create alone: ${shown(of('create', 'ready'))}`)
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
