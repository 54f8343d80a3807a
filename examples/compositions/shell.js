/**
 * An agent's commands: bash, its tool and the file system in one sandbox.
 * @module examples/compositions/shell
 */
import assert from 'node:assert/strict'
import { createUserMessage } from '@deepseek-ai/dsh-llm'
import { STEP_MS, until, within } from './world.js'

const run = ({ ctx }, command, request = {}) => within(ctx.shell.run(ctx.shell.resolve({ command, ...request })), STEP_MS, command)

export const shell = {
  name: 'shell',
  title: 'owner, provider, `dsh-fs-e2b`, bash and its tool, an agent loop',
  file: 'shell.cordis.yml',
  steps: {
    async 'a command gives its outputs and its exit code'(world) {
      const { exitCode, stdout, stderr } = await run(world, 'echo out; echo err >&2; exit 3')
      assert.deepEqual([exitCode, stdout.text ?? stdout, stderr.text ?? stderr], [3, 'out\n', 'err\n'])
    },

    async 'bash reads what the file system wrote, and the other way round'(world) {
      const { fs } = world.ctx
      const made = await fs.resolve(`${world.cwd}/made.txt`)
      await fs.writeText(made, 'by the file system\n', { kind: 'createIfAbsent' })
      assert.equal(await world.sh('cat made.txt; echo "by bash – 你好" > answer.txt'), 'by the file system\n')
      assert.equal(await fs.readText(await fs.resolve(`${world.cwd}/answer.txt`)), 'by bash – 你好\n')
      assert.equal(await fs.stat(await fs.resolve(`${world.cwd}/none`)), undefined)
    },

    async 'the bash tool answers as a model reads it'(world) {
      const ask = (command, more = {}) => world.tool('bash', { command, description: 'Do as told', ...more })
      assert.equal(await ask('pwd'), `${world.cwd}\n`)
      assert.match(await ask('echo seen; exit 7'), /^seen\n[^]*\[exit code: 7\]$/)
      assert.match(await ask('sleep 600', { timeoutMs: 300 }), /timed out after 300ms/)
    },

    async "a command has the harness' own variables, whatever their prefix"(world) {
      assert.match(await world.tool('bash', { command: 'env | grep _SHELL=', description: 'Look' }), /^(DSH|TOH)_SHELL=1\n$/)
    },

    async 'an output beyond its bounds is in a file of the sandbox, whole'(world) {
      const text = await world.tool('bash', { command: 'seq 1 200000', description: 'Count' })
      const [, path] = text.match(/full output: (\/[^\]]+)\]/) ?? assert.fail(text.slice(-300))
      assert.equal((await world.sh(`tail -n 1 '${path}'; wc -l < '${path}'`)).replaceAll(' ', ''), '200000\n200000\n')
    },

    async 'a command that is called off ends with its whole tree'(world) {
      const process = world.ctx.shell.start(world.ctx.shell.resolve({ command: 'trap "" TERM; sleep 611.25 & sleep 611.25; wait' }))
      await until(async () => await world.sh('pgrep -fc "^sleep 611.25" || true') === '2\n', 'two programs')
      process.kill()
      await within(process.done, STEP_MS, 'the end of the command')
      await until(async () => await world.sh('pgrep -fc "^sleep 611.25" || true') === '0\n', 'the end of its programs')
    },

    async 'a turn of the agent calls the tool twice and answers'(world) {
      const agent = await world.agent()
      const call = command => ({ name: 'bash', arguments: { command, description: 'Do as told' } })
      const task = JSON.stringify({ calls: [call('echo kept > state.txt'), call('cat state.txt; uname -s')] })
      const answers = []
      const stop = world.ctx.on('session/event', (session, event) => {
        if (session === agent.session && event.type === 'assistant/message') answers.push(event.data.message)
      })
      await within(agent.whenIdle(), STEP_MS, 'the agent')
      agent.followup(createUserMessage({ content: [{ type: 'text', text: task }], source: { kind: 'user' } }))
      await within(agent.whenIdle(), STEP_MS, 'the turn')
      stop()
      const said = answers.at(-1).content.map(block => block.text).join('')
      assert.match(said, /^\(no output\)\n---\nkept\nLinux\n?$/)
    },
  },
}
