/**
 * An agent's persistent terminals: the registry, its bash backend and the bash tool that keeps a shell.
 * @module examples/compositions/terminals
 */
import assert from 'node:assert/strict'
import { STEP_MS, until, within } from './world.js'

/** A shell of the registry, in the agent's name. */
async function open(world) {
  const { terminals } = world.ctx
  const agent = await world.agent()
  const { sessionId, ...opened } = await within(terminals.spawn(agent, { type: 'shell' }), STEP_MS, 'a terminal')
  const start = text => terminals.startSend(agent, sessionId, { text, submit: true })
  return {
    ...opened,
    start,
    send: text => within(start(text).done, STEP_MS, text),
    text: () => terminals.read(agent, sessionId, { count: 200 }).text,
    signal: name => within(terminals.signal(agent, sessionId, name), STEP_MS, name),
    close: () => within(terminals.kill(agent, sessionId), STEP_MS, 'the end of a terminal'),
  }
}

const bash = (world, command) => world.tool('bash', { command })

export const terminals = {
  name: 'terminals',
  title: 'and persistent terminals with their bash tool',
  file: 'terminals.cordis.yml',
  steps: {
    async 'a shell shows its prompt and nothing of a bootstrap'(world) {
      const shell = await open(world)
      assert.equal(shell.motd, 'dsh> ')
      assert.match((await shell.send('echo $((40 + 2))')).viewport, /42\n(.*\n)?dsh> $/)
      await shell.close()
    },

    async 'a program that asks is known to wait for its answer'(world) {
      const shell = await open(world)
      const asked = await shell.send('bash -c \'read -p "name? " name; echo "[$name]"\'')
      assert.equal(asked.waitReason, 'stdin_read')
      assert.match(asked.viewport, /name\? $/)
      await shell.send('ann')
      await until(() => /\n\[ann\]\n/.test(shell.text()), 'the reply')
      await shell.close()
    },

    async 'a running program is told by a signal, and its shell goes on'(world) {
      const shell = await open(world)
      const sending = shell.start('sh -c "echo begun; exec sleep 600"')
      await until(() => /\nbegun\n/.test(shell.text()), 'the program')
      assert.ok((await shell.signal('SIGTERM')).delivered)
      await within(sending.done, STEP_MS, 'the signalled program')
      await shell.send('echo code:$?')
      await until(() => /\ncode:143\n/.test(shell.text()), 'its exit code')
      await shell.close()
    },

    async 'the bash tool keeps its directory and its environment from call to call'(world) {
      assert.equal(await bash(world, 'export KEPT=yes; mkdir -p nested; cd nested'), '')
      assert.equal(await bash(world, 'printf "%s %s\\n" "$KEPT" "$PWD"'), `yes ${world.cwd}/nested`)
      assert.equal(await bash(world, 'false'), '[exit code: 1]')
    },

    async 'a terminal that is closed takes its jobs along'(world) {
      const shell = await open(world)
      shell.start('trap "" TERM HUP; sleep 612.5 & sleep 612.5').done.catch(() => {})
      await until(async () => await world.sh('pgrep -fc "^sleep 612.5" || true') === '2\n', 'two jobs')
      await shell.close()
      assert.equal(await world.sh('pgrep -fc "^sleep 612.5" || true'), '0\n')
    },
  },
}
