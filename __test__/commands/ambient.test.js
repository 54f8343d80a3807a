import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Sandbox } from 'e2b'
import { under } from './bare.js'
import { matrix, settled, text, unless } from './world.js'
import { serverEnvironment, startServer } from '../support/server.js'

const AMBIENT = {
  PLAIN: 'plain', EMPTY: '', PATHLIKE: '/a:/b', PASSPHRASE: 'the heuristic lets it through',
  DSH_ONE: 'x', dsh_two: 'x', TOH_ONE: 'x', Toh_Two: 'x',
  'a.b': 'no shell has such a name', 'FOO-BAR': 'in\nlines', SHLVL: '7', OLDPWD: '/no/shell/was/there',
  MY_KEY: 'x', keyboard: 'x', PASSWORD: 'x', db_password_old: 'x', SECRET: 'x', TopSecretThing: 'x', TOKEN: 'x', gh_token: 'x',
}
const KEPT = ['PLAIN', 'EMPTY', 'PATHLIKE', 'PASSPHRASE']
/** What a shell on the way would drop or change. */
const FRAGILE = ['a.b', 'FOO-BAR', 'SHLVL', 'OLDPWD']
const WITHHELD = Object.keys(AMBIENT).filter(name => !KEPT.includes(name) && !FRAGILE.includes(name))

let server
let sandbox
const worlds = []

before(async () => {
  server = await startServer()
  Object.assign(process.env, serverEnvironment(server))
  sandbox = await Sandbox.create({ envs: AMBIENT, timeoutMs: 300_000 })
  await sandbox.commands.run('mkdir -p -m 700 ~/.dsh-e2b')
})
after(async () => {
  for (const world of worlds) await world.dispose().catch(() => {})
  await sandbox?.kill()
  await server?.stop()
})

/** The provider in the sandbox with the ambient environment above. */
async function open(config) {
  const world = await under(server, { getSandbox: async () => sandbox }, config)
  worlds.push(world)
  return world
}

async function environment(world, env) {
  const { stdout } = await world.run(['env', '-0'], { env })
  return Object.fromEntries(stdout.split('\0').filter(Boolean).map(entry => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]))
}

// https://github.com/A3S-Lab/Box/issues/110
matrix('C13 ambient names that begin or sound like secrets are withheld in any case, others are kept (trap F3)', async () => {
  const world = await open()
  const control = (await sandbox.commands.run('env')).stdout
  for (const name of WITHHELD) assert.match(control, new RegExp(`^${name}=`, 'm'), `control: ${name} is ambient`)
  const seen = await environment(world)
  for (const name of KEPT) assert.equal(seen[name], AMBIENT[name], name)
  for (const name of WITHHELD) assert.equal(name in seen, false, name)
  const explicit = await environment(world, { MY_KEY: 'explicit', DSH_ONE: 'explicit', PLAIN: '2', EMPTY: undefined })
  assert.deepEqual([explicit.MY_KEY, explicit.DSH_ONE, explicit.PLAIN, 'EMPTY' in explicit], ['explicit', 'explicit', '2', false])
})

test('C13 the ambient environment is what the daemon gives, not what a shell makes of it', { skip: unless('native') }, async () => {
  const world = await open()
  const seen = await environment(world)
  for (const name of FRAGILE) assert.equal(seen[name], AMBIENT[name], name)
  for (const name of ['PWD', '_']) assert.equal(name in seen, false, `${name} is a shell's`)
})

matrix('C13 D33 no process above a command shows what was withheld from it', async () => {
  const world = await open()
  const script = 'p=$PPID; while [ "$p" -gt 1 ]; do tr "\\0" "\\n" < /proc/$p/environ 2>/dev/null; p=$(awk "/^PPid/{print \\$2}" /proc/$p/status); done; echo end'
  const { stdout } = await world.sh(script)
  assert.match(stdout, /end\n$/)
  for (const name of WITHHELD) assert.doesNotMatch(stdout, new RegExp(`^${name}=`, 'm'), name)
})

test('C13 C2 another fork\'s prefixes are withheld when it names them', { skip: unless('native') }, async () => {
  const world = await open({ envPrefixes: ['PLA', 'pass'] })
  const seen = await environment(world)
  assert.equal('PLAIN' in seen, false)
  assert.equal('PASSPHRASE' in seen, false)
  assert.equal(seen.DSH_ONE, 'x', 'the usual ones are replaced')
  assert.equal('MY_KEY' in seen, false, 'what sounds like a secret is withheld all the same')
})

test('C13 the login environment is read once when it is asked for, whatever bytes it has', { skip: unless('native') }, async t => {
  const profile = ['export FROM_PROFILE=yes PROFILE_TOKEN=x', 'export BYTES="$(printf "a\\377\\nb")"', 'echo noise', 'echo x >> ~/.times-read']
  await sandbox.files.write('/home/user/.profile', profile.join('\n') + '\n')
  await sandbox.commands.run('rm -f ~/.times-read; test -e ~/.bash_profile || ln -s .profile ~/.bash_profile')
  t.after(() => sandbox.commands.run('rm -f ~/.profile ~/.times-read; test ! -L ~/.bash_profile || rm -f ~/.bash_profile'))
  const world = await open({ loginEnvironment: true })
  const seen = await environment(world)
  assert.equal(seen.PLAIN, 'plain')
  assert.equal(seen.FROM_PROFILE, 'yes')
  assert.equal('PROFILE_TOKEN' in seen, false)
  assert.equal((await world.sh('printf %s "$BYTES" | od -An -tx1')).stdout.trim(), '61 ff 0a 62')
  assert.equal((await environment(world, { BYTES: undefined })).BYTES, undefined)
  assert.equal((await world.sh('wc -l < ~/.times-read')).stdout.trim(), '1')
  const plain = await environment(await open())
  assert.equal('FROM_PROFILE' in plain, false, 'control: without the option it is not read')
})

matrix('D30 a bare object with cwd, runtimeRoot and getSandbox is an owner', async () => {
  const world = await open()
  const handle = world.spawn(['sh', '-c', 'echo hi; exit 5'])
  assert.deepEqual(await settled(handle), { exitCode: 5, signal: null })
  assert.equal(text(handle), 'hi\n')
  assert.equal(await world.subprocess.resolveExecutable('sh').then(path => path.startsWith('/')), true)
})

test('C40 C19 an owner\'s cwd that is not absolute counts from the home', { skip: unless('native') }, async () => {
  await sandbox.commands.run('mkdir -p ~/tools && printf "#!/bin/sh\\n" > ~/tools/found-below && chmod +x ~/tools/found-below')
  for (const [cwd, PATH] of [['.', 'tools'], ['~', './tools'], ['tools', '.']]) {
    const world = await under(server, { cwd, runtimeRoot: '/home/user/.dsh-e2b', getSandbox: async () => sandbox })
    worlds.push(world)
    const found = await world.subprocess.resolveExecutable('found-below', { PATH })
    assert.equal(found, '/home/user/tools/found-below', cwd)
  }
})
