/**
 * A model without a key: it calls the tools that the task names, one after the other, and answers with what they gave.
 *
 * A task is JSON, `{"calls": [{"name": "bash", "arguments": {…}}, …]}`.
 * @module examples/compositions/scripted-model
 */
import { CallId, LlmAdapter } from '@deepseek-ai/dsh-llm'

export const name = 'scripted-model'
export const inject = ['llm']

/** Registers the provider `scripted`. */
export function apply(ctx) {
  ctx.llm.registerAdapter(['scripted'], new ScriptedModel())
}

class ScriptedModel extends LlmAdapter {
  async * stream({ messages }) {
    const { calls, results } = progress(messages)
    const call = calls[results.length]
    if (call === undefined) yield * answer(results.join('\n---\n'))
    else yield * invoke(call, results.length)
  }
}

/** The calls of the latest task, and the results of those that were made. */
function progress(messages) {
  let calls = []
  let results = []
  for (const { role, content } of messages) {
    for (const block of content) {
      if (block.type === 'tool-result') results.push(text(block.content))
      if (role !== 'user' || block.type !== 'text' || !block.text.startsWith('{"calls":')) continue
      calls = JSON.parse(block.text).calls
      results = []
    }
  }
  return { calls, results }
}

function text(content) {
  return content.filter(block => block.type === 'text').map(block => block.text).join('')
}

function * answer(text) {
  yield { type: 'block-start', index: 0, blockType: 'text' }
  yield { type: 'text-delta', index: 0, text }
  yield { type: 'block-end', index: 0, block: { type: 'text', text } }
  yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
  yield { type: 'finish', reason: { kind: 'stop' } }
}

function * invoke({ name, arguments: given }, at) {
  const id = CallId(`call-${at}`)
  const text = JSON.stringify(given)
  yield { type: 'block-start', index: 0, blockType: 'tool-call' }
  yield { type: 'tool-call-delta', index: 0, id, name, argumentsDelta: text }
  yield { type: 'block-end', index: 0, block: { type: 'tool-call', id, name, arguments: text } }
  yield { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }
  yield { type: 'finish', reason: { kind: 'tool-calls' } }
}
