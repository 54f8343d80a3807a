#!/usr/bin/env node
/** An agent that speaks the Agent Client Protocol: one session, one prompt at a time, permission asked before each. */
import { listen, say, work } from './work.mjs'

const asked = new Map()
let running
let ids = 0

const methods = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, agentCapabilities: { loadSession: false }, authMethods: [] }),
  'session/new': () => ({ sessionId: `session-${process.pid}` }),
  async 'session/prompt'({ sessionId, prompt }) {
    running = new AbortController()
    const task = prompt.map(({ text }) => text).join('')
    const { outcome } = await request('session/request_permission', {
      sessionId,
      toolCall: { toolCallId: 'run', title: task },
      options: [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }, { optionId: 'no', name: 'No', kind: 'reject_once' }],
    })
    if (outcome.optionId !== 'yes') return { stopReason: 'refusal' }
    try {
      const text = await work(task, running.signal)
      say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } })
      return { stopReason: 'end_turn' }
    } catch {
      return { stopReason: 'cancelled' }
    }
  },
  'session/cancel': () => running?.abort(),
}

listen(async ({ id, method, params, result }) => {
  if (method === undefined) return asked.get(id)?.(result)
  const answer = await methods[method](params)
  if (id !== undefined) say({ jsonrpc: '2.0', id, result: answer })
})

function request(method, params) {
  const id = `agent-${ids++}`
  say({ jsonrpc: '2.0', id, method, params })
  return new Promise(resolve => asked.set(id, resolve))
}
