#!/usr/bin/env node
/** `claude --input-format stream-json --output-format stream-json`: one turn for each message, until the input ends. */
import { listen, say, work } from './work.mjs'

const session = { session_id: `session-${process.pid}`, uuid: '00000000-0000-4000-8000-000000000000' }
let running

listen(async message => {
  if (message.type === 'control_request') return control(message)
  if (message.type !== 'user') return
  running = new AbortController()
  const { content } = message.message
  const task = typeof content === 'string' ? content : content.map(({ text }) => text).join('')
  say({ type: 'system', subtype: 'init', cwd: process.cwd(), tools: ['Bash'], mcp_servers: [], model: 'stand-in', permissionMode: 'default', slash_commands: [], apiKeySource: 'none', ...session })
  try {
    const result = await work(task, running.signal)
    say({ type: 'assistant', message: { id: 'm', type: 'message', role: 'assistant', model: 'stand-in', content: [{ type: 'text', text: result }], usage: { input_tokens: 1, output_tokens: 1 } }, parent_tool_use_id: null, ...session })
    say({ type: 'result', subtype: 'success', is_error: false, result, num_turns: 1, duration_ms: 1, duration_api_ms: 1, total_cost_usd: 0, usage: { input_tokens: 1, output_tokens: 1 }, permission_denials: [], ...session })
  } catch {
    say({ type: 'result', subtype: 'error_during_execution', is_error: true, errors: ['interrupted'], num_turns: 1, duration_ms: 1, duration_api_ms: 1, total_cost_usd: 0, usage: {}, permission_denials: [], ...session })
  }
})

function control({ request_id, request }) {
  if (request.subtype === 'interrupt') running?.abort()
  const response = request.subtype === 'initialize' ? { commands: [], output_style: 'default', available_output_styles: [], models: [], account: {} } : {}
  say({ type: 'control_response', response: { subtype: 'success', request_id, response } })
}
