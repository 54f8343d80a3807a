/**
 * What the stand-ins for agents share. They run in the sandbox, on Node alone, and speak their products' protocols; in
 * place of a model there is the task itself.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Calls `hear` for each message on standard input, one JSON a line. */
export function listen(hear) {
  createInterface({ input: process.stdin }).on('line', line => { if (line.trim() !== '') hear(JSON.parse(line)) })
}

/** Writes a message. */
export function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`)
}

/**
 * Does a task: runs it as a shell line.
 * @param {string} task
 * @param {AbortSignal} signal gives the task up; its program is left to whoever ends the agent
 * @returns {Promise<string>} what it printed
 */
export function work(task, signal) {
  return new Promise((resolve, reject) => {
    const child = spawn('sh', ['-c', task], { stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.setEncoding('utf8').on('data', chunk => { text += chunk })
    child.on('close', () => resolve(text))
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
