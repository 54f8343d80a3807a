/**
 * Hot reload: the composition's file changes while commands run; owner and provider are disposed and loaded again.
 * @module examples/compositions/reload
 */
import assert from 'node:assert/strict'
import { readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { STEP_MS, until, within } from './world.js'

/** How many descriptors this process has open. */
async function descriptors() {
  const links = await Promise.all((await readdir('/proc/self/fd')).map(fd => readlink(`/proc/self/fd/${fd}`).catch(() => undefined)))
  return links.filter(link => link !== undefined).length
}

/** How often each kind of what keeps this process is there. */
function count(kinds) {
  const counts = {}
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

/** Changes one line of each of the two rows, as somebody who edits the file does, and waits until the tree has followed. */
async function edit(world, round) {
  const text = await readFile(world.file, 'utf8')
  const owner = text.replace(/(- id: e2b\n.*\n  config:\n)(    timeoutMs: \d+\n)?/, `$1    timeoutMs: ${300_000 + round * 1000}\n`)
  const both = owner.replace(/(- id: subprocess\n.*\n)(  config: .*\n)?/, `$1  config: { pollMs: ${20 + round} }\n`)
  assert.notEqual(both, text)
  await writeFile(world.file, both)
  await world.ctx.loader.resolve('include').subtree.refresh()
  await world.ctx.loader.await()
}

/** Commands of every kind, running. */
async function start(world) {
  const stubborn = world.spawn(['sh', '-c', 'trap "" TERM; sleep 615.5 & echo begun; sleep 615.5; wait'], { graceMs: 300 })
  const piped = world.spawn(['cat'], { stdin: 'pipe', stdout: 'pipe' })
  piped.stdin.write('held\n')
  const echoed = new Promise(resolve => piped.stdout.once('data', resolve))
  const bash = world.ctx.shell.start(world.ctx.shell.resolve({ command: 'sleep 615.5' }))
  const terminal = await within(world.ctx.subprocess.spawnTerminal({ argv: ['sh'], cwd: world.cwd, rows: 24, cols: 80, graceMs: 300 }), STEP_MS, 'a terminal')
  // A consumer's own listener: what becomes of a terminal is its outcome's matter here.
  terminal.output.on('error', () => {}).resume()
  await within(echoed, STEP_MS, 'the echo')
  await until(() => stubborn.collected.stdout.readFrom(0).text === 'begun\n', 'the stubborn command')
  return { outcomes: { stubborn: stubborn.done, piped: piped.done, terminal: terminal.done }, bash }
}

async function reloaded(world, round) {
  const sandbox = await world.ctx.e2b.getSandbox()
  const old = { e2b: world.ctx.e2b, subprocess: world.ctx.subprocess }
  const { outcomes, bash } = await start(world)
  for (const done of Object.values(outcomes)) done.catch(() => {})
  await within(edit(world, round), STEP_MS, 'the reload')
  assert.ok(world.ctx.e2b !== old.e2b && world.ctx.subprocess !== old.subprocess, 'both are new')
  for (const [name, done] of Object.entries(outcomes)) {
    const outcome = await within(done, STEP_MS, `the outcome of ${name}`)
    assert.ok(outcome.signal !== null || outcome.exitCode !== 0, `${name} was ended: ${JSON.stringify(outcome)}`)
  }
  await within(bash.done, STEP_MS, 'the end of the bash command')
  assert.throws(() => old.subprocess.spawn({ argv: ['true'], cwd: '/', graceMs: 1, stdio: { stdin: 'ignore', stdout: { maxBytes: 1 }, stderr: { maxBytes: 1 } } }), /disposing/)
  const fresh = await within(world.ctx.e2b.getSandbox(), STEP_MS, 'the next sandbox')
  assert.notEqual(fresh.sandboxId, sandbox.sandboxId)
  assert.equal(await sandbox.isRunning(), false, 'the sandbox before is gone')
  assert.equal(await world.sh('pgrep -fc "^sleep 615.5" || true'), '0\n')
  assert.equal(await world.tool('bash', { command: 'echo works', description: 'Say so' }), 'works\n')
}

export const reload = {
  name: 'reload',
  title: 'hot reload of owner and provider under running commands, three times',
  file: 'shell.cordis.yml',
  steps: {
    async 'the first change of the file ends what runs, and the next commands run in another sandbox'(world) {
      try {
        await reloaded(world, 1)
      } finally {
        world.descriptors = await descriptors()
      }
    },
    'the second does the same': world => reloaded(world, 2),
    'the third does the same': world => reloaded(world, 3),

    async 'no descriptor more is open than after the first'(world) {
      let last
      await until(async () => (last = await descriptors()) <= world.descriptors, 'the end of the descriptors', 20_000)
        .catch(cause => { throw new Error(`${world.descriptors} descriptors became ${last}`, { cause }) })
    },

    async 'after the end nothing is left: no failure, no sandbox, nothing that keeps the process'(world) {
      const sandbox = await world.ctx.e2b.getSandbox()
      await world.dispose()
      assert.equal(await sandbox.isRunning(), false)
      const more = () => {
        const left = count(process.getActiveResourcesInfo())
        return Object.keys(left).filter(kind => kind !== 'Timeout' && left[kind] > (world.resources[kind] ?? 0))
      }
      await until(() => more().length === 0, 'the end of what keeps the process').catch(cause => { throw new Error(`left: ${more()}`, { cause }) })
    },
  },
}
