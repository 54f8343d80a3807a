/**
 * One subject in a process of its own: `child.js SUBJECT ROW SERVER OPTIONS`, the last two in JSON. Measures one
 * round at each `round` message from the bench.
 * @module bench/child
 */
import { rows } from './rows/index.js'
import { openSubject } from './subject.js'

const [name, rowName, server, options] = process.argv.slice(2)
const row = rows.find(candidate => candidate.name === rowName)

try {
  const subject = await openSubject(name, JSON.parse(server))
  const context = { subject, name, ...JSON.parse(options), requests: askRequests }
  const state = await row.prepare?.(context)
  process.on('message', async message => {
    if (message === 'round') await answer(() => row.measure({ ...context, state }))
    else if (message === 'stop') {
      await answer(() => subject.close())
      process.exit()
    }
  })
  process.send({ ready: true })
} catch (error) {
  process.send({ error: describe(error) }, () => process.exit(1))
}

async function answer(work) {
  try {
    process.send({ value: await work() ?? null })
  } catch (error) {
    process.send({ error: describe(error) })
  }
}

/** Requests that this subject's line has seen; the bench holds the line. */
function askRequests() {
  return new Promise(resolve => {
    const listen = message => {
      if (message?.requests === undefined) return
      process.off('message', listen)
      resolve(message.requests)
    }
    process.on('message', listen)
    process.send({ ask: 'requests' })
  })
}

function describe(error) {
  return String(error?.message ?? error).split('\n')[0]
}
