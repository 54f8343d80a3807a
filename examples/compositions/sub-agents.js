/**
 * The harness' backends for other makers' agents, which look at a process id as soon as `spawn` returns.
 * @module examples/compositions/sub-agents
 */
import assert from 'node:assert/strict'
import { STEP_MS, until, within } from './world.js'

/** Backends by name: the stand-in's executable, and what its answer begins with. */
const AGENTS = { acp: ['acp', ''], codex: ['codex', 'decline:'], 'claude-code': ['claude', ''] }

async function start(world, name, task, signal) {
  return within(begin(world, await world.agent(), name, task, signal), STEP_MS, `the start of ${name}`)
}

function begin(world, parent, name, task, signal = new AbortController().signal) {
  return world.ctx.subagents.start(name, { prompt: [{ type: 'text', text: task }], parent, signal })
}

/** How many processes have a command line that begins so. */
const count = (world, pattern) => world.sh(`pgrep -fc "^${pattern}" || true`)

function stepsOf(name, executable, prefix) {
  // By its own name: what another backend has left must not count here.
  const agent = world => `([^ ]*/)?node ${world.cwd}/bin/${executable}`
  return {
    async [`${name} does its task in the sandbox, and is gone afterwards`](world) {
      const run = await start(world, name, 'cat only-here.txt; echo "$(pwd)"')
      const { output, stopReason } = await within(run.result, STEP_MS, 'its result')
      await within(run.dispose(), STEP_MS, 'its end')
      assert.equal(stopReason, 'completed')
      assert.equal(output.map(({ text }) => text).join(''), `${prefix}in the sandbox\n${world.cwd}\n`)
      assert.equal(await count(world, agent(world)), '0\n')
    },

    async [`${name} that is called off at work leaves nothing`](world) {
      const caller = new AbortController()
      const run = await start(world, name, 'trap "" TERM; sleep 613.5', caller.signal)
      await until(async () => await count(world, 'sleep 613.5') === '1\n', 'its program')
      caller.abort()
      const { stopReason } = await within(run.result, STEP_MS, 'its result')
      await within(run.dispose(), STEP_MS, 'its end')
      assert.equal(stopReason, 'aborted')
      assert.equal(await count(world, `(sleep 613.5|${agent(world)})`), '0\n')
    },

    async [`${name} that is called off while it starts leaves nothing`](world) {
      const caller = new AbortController()
      const parent = await world.agent()
      // It has been spawned when this returns, but for the one that looks for its executable first.
      const starting = begin(world, parent, name, 'sleep 614.5', caller.signal)
      caller.abort()
      await assert.rejects(within(starting, 20_000, 'the end of its start'), /abort/)
      assert.equal(await count(world, `(sleep 614.5|${agent(world)})`), '0\n')
    },

    async [`${name} that is not there is an error at its start`](world) {
      await world.sh(`mv bin/${executable} bin/away`)
      await assert.rejects(start(world, name, 'true'), /ENOENT|not found|exit|closed/)
      await world.sh(`mv bin/away bin/${executable}`)
    },
  }
}

export const subAgents = {
  name: 'sub-agents',
  title: 'ACP, Codex and Claude Code as sub-agents',
  file: 'sub-agents.cordis.yml',
  hostCwd: true,
  steps: {
    async 'stand-ins for the agents are put into the sandbox'(world) {
      await world.sh('mkdir bin && echo "in the sandbox" > only-here.txt')
      await world.deliver(new URL('agents/work.mjs', import.meta.url), `${world.cwd}/bin/work.mjs`)
      for (const name of ['acp', 'codex', 'claude']) {
        await world.deliver(new URL(`agents/${name}.mjs`, import.meta.url), `${world.cwd}/bin/${name}.mjs`, '755')
        await world.sh(`ln -s ${name}.mjs bin/${name}`)
      }
    },
    ...Object.assign({}, ...Object.entries(AGENTS).map(([name, [executable, prefix]]) => stepsOf(name, executable, prefix))),
  },
}
