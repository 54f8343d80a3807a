/**
 * Runs the steps against one composition and reports.
 * @module demo/run
 */
import { compose } from '../../__test__/support/composition.js'
import { openMeter } from '../../__test__/support/meter.js'
import { startServer } from '../../__test__/support/server.js'
import { descendants, ownTemporaryDirectory, survivors } from './leftovers.js'
import { watchMemory } from './memory.js'
import { readSources } from './sources.js'
import { steps } from './steps.js'
import { table } from './table.js'

/**
 * The whole demo after building.
 * @param {'native' | 'ts'} provider
 * @returns {Promise<number>} the exit code
 */
export async function demo(provider) {
  const temporary = ownTemporaryDirectory()
  const server = await startServer()
  console.log(`server: ${server.kind} at ${server.apiUrl}; provider: ${provider}`)
  let outcome
  let leftovers = []
  try {
    outcome = await work(provider, server)
  } finally {
    const seen = descendants()
    await server.stop()
    leftovers = [...await survivors(seen), ...temporary.files()]
    temporary.remove()
  }
  console.log(`\n${table(['step', 'facts', 'time', 'requests', 'memory'], outcome.rows)}\n`)
  console.log(`peak memory of this process ${Math.round(process.resourceUsage().maxRSS / 1024)} MiB; ${outcome.requests} requests to the sandbox in all`)
  console.log(leftovers.length === 0 ? 'left behind: nothing' : `left behind: ${leftovers.join(', ')}`)
  return outcome.failed + leftovers.length === 0 ? 0 : 1
}

async function work(provider, server) {
  const meter = await openMeter(server)
  // An external server may share one file system between its sandboxes: then a directory of our own.
  const cwd = server.kind === 'sandboxd' ? '/home/user/workspace' : undefined
  const rows = []
  let failed = 0
  let composition
  try {
    composition = await compose(meter.server, { provider, cwd })
    const world = { composition, sources: readSources() }
    for (const step of steps) {
      const row = await one(step, world, meter)
      failed += row.failed ? 1 : 0
      rows.push(row.cells)
    }
    const { sandboxId } = await composition.sandbox()
    if (server.kind === 'external') await composition.run('rm -rf -- "$PWD"/source "$PWD"/tool')
    const start = performance.now()
    await composition.dispose()
    rows.push(['dispose everything', await sandboxIsGone(server, sandboxId), ms(performance.now() - start), '', ''])
    return { rows, failed, requests: await meter.requests() }
  } finally {
    await composition?.dispose()
    await meter.close()
  }
}

/** Longer error texts are cut, so that the table stays one. */
const FACTS = 80

async function one({ title, work: run }, world, meter) {
  const before = await meter.requests()
  const start = performance.now()
  const { value, growthMiB } = await watchMemory(() => run(world).then(
    facts => ({ facts, failed: false }),
    error => ({ facts: `FAILED: ${String(error.message ?? error).split('\n')[0].slice(0, FACTS)}`, failed: true }),
  ))
  const time = ms(performance.now() - start)
  const requests = await meter.requests() - before
  console.log(`${value.failed ? '✗' : '✓'} ${title}: ${value.facts} (${time})`)
  return { failed: value.failed, cells: [title, value.facts, time, String(requests), `+${growthMiB.toFixed(0)} MiB`] }
}

async function sandboxIsGone({ apiUrl, apiKey }, id) {
  const { status } = await fetch(`${apiUrl}/sandboxes/${id}`, { headers: { 'X-API-KEY': apiKey } })
  if (status !== 404) throw new Error(`the sandbox is still there: ${status}`)
  return 'the sandbox is gone'
}

function ms(time) {
  return `${time.toFixed(0)} ms`
}
