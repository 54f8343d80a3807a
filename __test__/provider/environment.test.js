import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useWorld } from './support.js'

const world = useWorld()
const environmentOf = async (env) => {
  const { stdout } = await world.run(['env', '-0'], { env })
  return Object.fromEntries(stdout.split('\0').filter(Boolean).map(entry => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]))
}

test('C13 nothing of the host reaches the sandbox', async () => {
  process.env.HOST_SENTINEL = 'host-value'
  assert.ok(!Object.values(await environmentOf()).includes('host-value'))
})

test('C13 entries are set whatever their name, and undefined removes', async () => {
  const env = await environmentOf({ MY_TOKEN: 'kept', DSH_MODE: 'x', 'FOO-BAR': 'dash', '--opt': 'y', USER: undefined, EMPTY: '' })
  assert.equal(env.MY_TOKEN, 'kept')
  assert.equal(env.DSH_MODE, 'x')
  assert.equal(env['FOO-BAR'], 'dash')
  assert.equal(env['--opt'], 'y')
  assert.equal(env.EMPTY, '')
  assert.ok(!('USER' in env))
})

test('C13 HOME is the login home of the sandbox user', async () => {
  const env = await environmentOf()
  const { stdout } = await world.sh('getent passwd $(id -u) | cut -d: -f6')
  assert.equal(env.HOME, stdout.trim())
})

test('F6 C13 an explicit value is in no argument list of the sandbox', async () => {
  const secret = `s3cr3t-${Math.random()}`
  const watcher = world.spawn(['sh', '-c', 'while :; do cat /proc/[0-9]*/cmdline 2>/dev/null; done'], { stdout: { maxBytes: 8 << 20 } })
  for (let round = 0; round < 20; round++) await world.run(['true'], { env: { SECRET_TOKEN: secret } })
  watcher.terminate()
  await watcher.done
  assert.ok(!watcher.collected.stdout.readFrom(0).text.includes(secret))
})

test('C19 a bare name is looked up along the command\'s own PATH, one with a slash from its directory', async () => {
  await world.sh('mkdir -p bin && printf "#!/bin/sh\\necho mine\\n" > bin/mine && chmod +x bin/mine')
  assert.equal((await world.run(['mine'], { env: { PATH: `${world.cwd}/bin:/usr/bin:/bin` } })).stdout, 'mine\n')
  assert.equal((await world.run(['./mine'], { cwd: `${world.cwd}/bin` })).stdout, 'mine\n')
  await assert.rejects(world.run(['mine']), { code: 'ENOENT' })
})

test('C19 an executable file of unknown format runs by the shell', async () => {
  await world.sh('echo "echo plain \\$1" > plain && chmod +x plain')
  assert.equal((await world.run(['./plain', 'words'])).stdout, 'plain words\n')
})

test('F7 C19 the program has default signals, an empty mask and three descriptors', async () => {
  const { stdout } = await world.sh('grep -E "^Sig(Ign|Blk)" /proc/self/status; ls /proc/self/fd | wc -l')
  // `ls` itself has the directory open.
  assert.match(stdout, /SigBlk:\t0+\nSigIgn:\t0+\n4\n/)
  assert.equal((await world.run(['bash', '-c', 'yes | head -n1 >/dev/null; echo ${PIPESTATUS[*]}'])).stdout, '141 0\n')
})
