import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matrix, rejection, settled, unless, useWorld } from './world.js'

const world = useWorld()

/** What a command sees: its whole environment, without the shell's own additions. */
async function environment(env, options) {
  const { stdout, stderr, exitCode } = await world.run(['env', '-0'], { env, ...options })
  assert.equal(exitCode, 0, stderr)
  return Object.fromEntries(stdout.split('\0').filter(Boolean).map(entry => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]))
}

matrix('C13 the base is what the sandbox gives, with the login home of its user', async () => {
  const seen = await environment()
  assert.equal(seen.HOME, '/home/user')
  assert.equal(seen.USER, 'user')
  assert.equal(seen.LOGNAME, 'user')
  assert.match(seen.PATH, /\/usr\/bin/)
})

matrix('C13 D33 explicit entries are set whatever their name, and undefined removes', async () => {
  const entries = {
    PLAIN: 'value',
    EMPTY: '',
    ' ': 'a space alone',
    'with space': 'x',
    'FOO-BAR': 'dash',
    '--opt': 'no option',
    lower: 'y',
    DSH_SET: 'explicit',
    TOH_SET: 'explicit',
    MY_API_KEY: 'explicit',
    PASSWORD: 'explicit',
    'secret-ish': 'explicit',
    GITHUB_TOKEN: 'explicit',
    MULTI: 'line one\nline two\n',
    'A\nB': 'a name of two lines',
    UNICODE: '€ \u{1f600}',
    'ÜNI€': 'a name beyond ASCII',
    EQUALS: 'a=b=c',
    DOLLAR: '$HOME `id` $(id) "quoted" \'single\' \\ %s',
    HOME: '/nowhere',
    PATH: '/usr/bin:/bin',
    1: 'digit',
  }
  const seen = await environment(entries)
  for (const [name, value] of Object.entries(entries)) assert.equal(seen[name], value, name)
  const base = await environment()
  const removed = await environment(Object.fromEntries(Object.keys(base).filter(name => name !== 'PATH').map(name => [name, undefined])))
  assert.deepEqual(Object.keys(removed), ['PATH'])
  assert.deepEqual(await environment({ NEVER_THERE: undefined }), base)
})

matrix('C13 a mebibyte of variables arrives, each exact', async () => {
  const entries = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`LARGE_${at}`, String.fromCharCode(97 + at).repeat(65_530 - String(at).length)]))
  const seen = await environment(entries, { stdout: { maxBytes: 4 << 20 } })
  for (const [name, value] of Object.entries(entries)) assert.ok(seen[name] === value, name)
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`MANY_${at}`, String(at)]))
  assert.equal((await world.run(['sh', '-c', 'env | grep -c ^MANY_'], { env: many })).stdout, '5000\n')
})

matrix('C13 nothing of the host\'s environment enters the sandbox', async () => {
  process.env.ONLY_ON_THE_HOST = 'host value'
  try {
    const seen = await environment()
    assert.equal(seen.ONLY_ON_THE_HOST, undefined)
    assert.deepEqual(Object.values(seen).filter(value => value.includes('host value')), [])
    assert.equal(seen.E2B_API_KEY, undefined)
  } finally {
    delete process.env.ONLY_ON_THE_HOST
  }
})

matrix('C13 a removed PATH still finds programs by their absolute path', async () => {
  const { exitCode } = await world.run(['/bin/true'], { env: { PATH: undefined } })
  assert.equal(exitCode, 0)
})

// https://github.com/A3S-Lab/Box/issues/110
matrix('C13 an explicit entry wins and undefined removes on every path (trap F3)', async () => {
  const sandbox = await world.composition.sandbox()
  const ambient = Object.fromEntries(Object.entries(await environment()).filter(([name]) => name.startsWith('E2B_')))
  assert.ok(Object.keys(ambient).length > 0, `the sandbox ${sandbox.sandboxId} has variables of its own`)
  const [name] = Object.keys(ambient)
  assert.equal((await environment({ [name]: '2' }))[name], '2')
  assert.equal(name in (await environment({ [name]: undefined })), false)
})

// https://github.com/fabro-sh/fabro/pull/633
matrix('C13 no start-up file and no exported function runs before the program (trap F4)', async () => {
  await world.sh('printf "echo evil; export EVIL=1; exit 42\\n" > evil.sh')
  const evil = `${world.cwd}/evil.sh`
  const env = { BASH_ENV: evil, ENV: evil, 'BASH_FUNC_env%%': '() { echo replaced; }', 'BASH_FUNC_printenv%%': '() { echo replaced; }' }
  const { exitCode, stdout, stderr } = await world.run(['printenv', 'BASH_ENV'], { env })
  assert.deepEqual({ exitCode, stdout, stderr }, { exitCode: 0, stdout: `${evil}\n`, stderr: '' })
  const seen = await environment(env)
  for (const [name, value] of Object.entries(env)) assert.equal(seen[name], value)
  assert.equal(seen.EVIL, undefined)
})

matrix('C13 no profile of the sandbox runs', async () => {
  await world.witness('printf "export FROM_PROFILE=1\\n" >> ~/.profile; printf "export FROM_RC=1\\n" >> ~/.bashrc')
  const seen = await environment()
  assert.equal(seen.FROM_PROFILE, undefined)
  assert.equal(seen.FROM_RC, undefined)
  await world.witness('rm -f ~/.profile ~/.bashrc')
})

// https://github.com/rust-lang/rust/issues/62569
matrix('C19 a program gets default signals and an empty mask (trap F7)', async () => {
  const { stdout } = await world.run(['bash', '-c', 'yes | head -n1 >/dev/null; echo ${PIPESTATUS[*]}'])
  assert.equal(stdout, '141 0\n')
  const status = await world.run(['grep', '-E', '^(SigBlk|SigIgn|SigPnd)', '/proc/self/status'])
  for (const line of status.stdout.trim().split('\n')) assert.match(line, /\t0{16}$/, line)
})

matrix('C19 a program has exactly the descriptors 0 to 2', async () => {
  const script = 'import os\nprint(sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/"+n)))'
  for (const options of [{}, { stdin: 'pipe' }, { stdin: { data: 'x' } }]) {
    const { stdout } = await world.run(['python3', '-c', script], options)
    assert.equal(stdout.trim(), '[0, 1, 2]')
  }
})

matrix('C19 a program leads its own session and group and has the user\'s umask', async () => {
  const handle = world.spawn(['sh', '-c', 'echo $$ $(ps -o sid=,pgid= -p $$); umask; id -un'])
  await settled(handle)
  const [ids, umask, name] = handle.collected.stdout.readFrom(0).text.trim().split('\n')
  const [pid, sid, pgid] = ids.trim().split(/\s+/)
  assert.deepEqual([sid, pgid], [pid, pid])
  assert.equal(umask, (await world.witness('umask')).trim())
  assert.equal(name, 'user')
})

matrix('C13 a cwd is the directory of the program and PWD is not invented', async () => {
  await world.sh('mkdir -p "deep dir/under"')
  const { stdout } = await world.run(['pwd', '-P'], { cwd: `${world.cwd}/deep dir/under` })
  assert.equal(stdout.trim(), `${world.cwd}/deep dir/under`)
})

test('C13 a program without a shell has the variables that the daemon gives, and no PWD of another directory', { skip: unless('native') }, async () => {
  const daemons = (await world.witness('tr "\\0" "\\n" < /proc/$$/environ')).trim().split('\n')
  const { stdout } = await world.run(['env', '-0'])
  const names = lines => lines.filter(Boolean).map(line => line.slice(0, line.indexOf('='))).sort()
  // A daemon that starts programs by a shell of its own tells them where it started them.
  assert.deepEqual(names(stdout.split('\0')), names(daemons).filter(name => name !== 'PWD'))
  for (const name of ['PWD', 'OLDPWD', 'SHLVL', '_']) assert.equal(names(stdout.split('\0')).includes(name), false, name)
})

matrix('C19 arguments are exact: no shell, no expansion, no trimming', async () => {
  const argv = ['', ' ', '  two  spaces ', '$HOME', '`id`', '$(id)', '*', '~', '"', "'", '\\', '\n', 'a\tb', '€', '-n', '--', '\u{1f600}', ';ls', '&', '|', '>x']
  const { stdout } = await world.run(['python3', '-c', 'import sys\nsys.stdout.write("\\0".join(sys.argv[1:]))', ...argv])
  assert.deepEqual(stdout.split('\0'), argv)
})

matrix('C19 a program name may have spaces and quotes', async () => {
  await world.sh('mkdir -p "odd dir"; printf "#!/bin/sh\\nexit 6\\n" > "odd dir/it\'s \\$here"; chmod +x "odd dir/it\'s \\$here"')
  assert.equal((await world.run(["./odd dir/it's $here"])).exitCode, 6)
  assert.equal((await rejection(world.spawn(["./odd dir/it's $not here"]).done)).code, 'ENOENT')
})
