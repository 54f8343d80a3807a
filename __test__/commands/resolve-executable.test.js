import assert from 'node:assert/strict'
import { PATIENCE_MS, matrix, rejection, useWorld } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld({ prepare: files })
const resolve = (...args) => within(world.subprocess.resolveExecutable(...args), PATIENCE_MS, `resolving ${args[0]}`)
const refused = (pattern, ...args) => assert.rejects(resolve(...args), pattern)

async function files(world) {
  const { exitCode, stderr } = await world.sh([
    'mkdir -p bin other/bin dirs/tool; printf "#!/bin/sh\\n" > bin/tool; chmod +x bin/tool; cp bin/tool other/bin/tool',
    'echo data > bin/plain; echo data > plain; ln -s tool bin/alias; ln -s nowhere bin/broken; cp bin/tool "bin/with space"',
    'cp bin/tool bin/both; cp plain other/bin/both; mkfifo bin/fifo; chmod +x bin/fifo',
  ].join('\n'))
  assert.equal(exitCode, 0, stderr)
}

matrix('C40 an absolute path to an executable regular file is itself', async () => {
  assert.equal(await resolve(`${world.cwd}/bin/tool`), `${world.cwd}/bin/tool`)
  assert.equal(await resolve(`${world.cwd}/bin/with space`), `${world.cwd}/bin/with space`)
  assert.equal(await resolve(`${world.cwd}/bin/alias`), `${world.cwd}/bin/alias`)
})

matrix('C40 D12 what is no executable regular file is refused', async () => {
  for (const path of ['bin/plain', 'bin', 'bin/broken', 'bin/fifo', 'nowhere']) {
    const error = await rejection(world.subprocess.resolveExecutable(`${world.cwd}/${path}`), path)
    assert.match(error.message, /is not an executable file/)
    assert.ok(error.message.includes(`${world.cwd}/${path}`), error.message)
  }
})

matrix('C40 a bare name is found along the given PATH in its order', async () => {
  const first = `${world.cwd}/bin`
  const second = `${world.cwd}/other/bin`
  assert.equal(await resolve('tool', { PATH: `${first}:${second}` }), `${first}/tool`)
  assert.equal(await resolve('tool', { PATH: `${second}:${first}` }), `${second}/tool`)
  assert.equal(await resolve('tool', { PATH: `${world.cwd}/dirs:${second}` }), `${second}/tool`, 'a directory is passed over')
  assert.equal(await resolve('both', { PATH: `${second}:${first}` }), `${first}/both`, 'a plain file is passed over')
})

matrix('C40 without a PATH the ambient one of the sandbox is searched', async () => {
  const { stdout } = await world.sh('command -v sh')
  assert.equal(await resolve('sh'), stdout.trim())
  assert.equal(await resolve('sh', {}), stdout.trim())
  assert.equal(await resolve('sh', { OTHER: 'x' }), stdout.trim())
})

matrix('C40 D12 relative entries of PATH resolve against the shared cwd, to an absolute path', async () => {
  assert.equal(await resolve('tool', { PATH: 'nowhere:bin' }), `${world.cwd}/bin/tool`)
  assert.equal(await resolve('tool', { PATH: './other/bin' }).then(path => path.replace('/./', '/')), `${world.cwd}/other/bin/tool`)
})

matrix('C40 D12 an empty name and a relative path with a slash are refused', async () => {
  await refused(/must be non-empty/, '')
  for (const path of ['bin/tool', './bin/tool', '../x', 'a/']) await refused(/is a relative path/, path)
})

matrix('C40 D12 a name that is nowhere is refused by its name', async () => {
  await refused(/no-such-tool.*was not found on PATH|was not found on PATH.*no-such-tool/s, 'no-such-tool')
  await refused(/was not found on PATH/, 'tool', { PATH: '/nowhere' })
  await refused(/was not found on PATH/, 'sh', { PATH: '' })
})

matrix('C40 D12 an abort rejects with its own reason, whatever it is', async () => {
  for (const reason of ['a string', new Error('an error'), 42]) {
    assert.equal(await rejection(world.subprocess.resolveExecutable('sh', undefined, AbortSignal.abort(reason))), reason)
    const abort = new AbortController()
    const pending = world.subprocess.resolveExecutable('sh', undefined, abort.signal)
    abort.abort(reason)
    assert.equal(await rejection(pending), reason)
  }
})

matrix('C40 many questions at once are each answered', async () => {
  const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 ? resolve('tool', { PATH: 'bin' }) : resolve('nope').catch(() => 'refused'))))
  assert.deepEqual(answers, Array.from({ length: 50 }, (_, at) => (at % 2 ? `${world.cwd}/bin/tool` : 'refused')))
})

matrix('C40 what is found is what runs', async () => {
  const found = await resolve('python3')
  const { stdout } = await world.run([found, '-c', 'import sys; print(sys.version_info[0])'])
  assert.equal(stdout, '3\n')
})

matrix('C40 lookups at once leave one listener on their signal', async () => {
  const warnings = []
  const note = warning => warnings.push(warning.name)
  process.on('warning', note)
  const { signal } = new AbortController()
  await Promise.all(Array.from({ length: 40 }, () => resolve('sh', undefined, signal)))
  await new Promise(setImmediate)
  process.off('warning', note)
  assert.deepEqual(warnings, [])
})

matrix('C40 null stands for what is left out', async () => {
  assert.equal(await resolve(`${world.cwd}/bin/tool`, null, null), `${world.cwd}/bin/tool`)
})
