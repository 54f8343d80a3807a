#!/usr/bin/env node
/** `codex app-server --stdio`: one ephemeral thread, turns that ask for approval and end with a final answer. */
import { listen, say, work } from './work.mjs'

if (process.argv.slice(2).join(' ') !== 'app-server --stdio') throw new Error(`unexpected arguments: ${process.argv.slice(2)}`)
const thread = { id: `thread-${process.pid}`, ephemeral: true }
const asked = new Map()
let turns = 0
let running

const methods = {
  initialize: () => ({ userAgent: 'stand-in' }),
  initialized: () => undefined,
  'thread/start': () => ({ thread }),
  'turn/start'({ threadId, input }) {
    const turn = { id: `turn-${++turns}`, status: 'inProgress' }
    running = new AbortController()
    // The turn goes on behind its answer.
    setImmediate(() => run({ threadId, turnId: turn.id }, input.map(({ text }) => text).join('')))
    return { turn }
  },
  'turn/interrupt'() {
    running?.abort()
    return {}
  },
}

async function run(ids, task) {
  notify('turn/started', { threadId: ids.threadId, turn: { id: ids.turnId, status: 'inProgress' } })
  const { decision } = await request('item/commandExecution/requestApproval', { ...ids, itemId: 'run', command: task, availableDecisions: ['accept', 'decline'] })
  const completed = status => notify('turn/completed', { threadId: ids.threadId, turn: { id: ids.turnId, status } })
  try {
    // Nobody attends to this agent: what it asked for is declined, and it does what it may without asking.
    const text = `${decision}:${await work(task, running.signal)}`
    notify('item/completed', { ...ids, item: { type: 'agentMessage', id: 'answer', text, phase: 'final_answer' } })
    completed('completed')
  } catch {
    completed('interrupted')
  }
}

listen(async ({ id, method, params, result }) => {
  if (method === undefined) return asked.get(id)?.(result)
  const answer = await methods[method](params)
  if (id !== undefined) say({ id, result: answer })
})

function notify(method, params) {
  say({ method, params })
}

function request(method, params) {
  const id = `server-${asked.size}`
  say({ id, method, params })
  return new Promise(resolve => asked.set(id, resolve))
}
