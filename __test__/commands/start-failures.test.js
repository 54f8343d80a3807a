import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { drain, gone, matrix, rejection, settled, useWorld, PATIENCE_MS, SOON_MS } from './world.js'
import { within } from '../support/deadline.js'

const world = useWorld()

/** A start that must fail as Node's own `spawn` fails. */
async function fails(argv, code, options) {
  const handle = world.spawn(argv, options)
  const error = await rejection(handle.done, argv[0].slice(0, 40))
  assert.ok(error instanceof Error)
  assert.equal(error.code, code, `${argv[0].slice(0, 60)}: ${error.message.slice(0, 300)}`)
  assert.equal(error.syscall, `spawn ${argv[0]}`)
  assert.equal(error.path, argv[0])
  assert.equal(handle.pid, -1)
  assert.equal(await gone(handle), true)
  return error
}

/** Runs a line of `sh` that prepares files; it must succeed. */
async function prepare(script) {
  const { exitCode, stderr } = await world.sh(script)
  assert.equal(exitCode, 0, stderr)
}

matrix('C21 C19 a bare name that PATH does not have is ENOENT', async () => {
  await fails(['no-such-program-anywhere'], 'ENOENT')
  await fails(['ls'], 'ENOENT', { env: { PATH: '/nowhere' } })
  await fails(['ls'], 'ENOENT', { env: { PATH: '' } })
})

matrix('C21 a path that does not exist is ENOENT', async () => {
  await fails(['/no/such/program'], 'ENOENT')
  await fails(['./no-such-program'], 'ENOENT')
})

matrix('C21 a file without execute permission and a directory are EACCES', async () => {
  await prepare('echo x > plain; mkdir -p dir')
  await fails(['./plain'], 'EACCES')
  await fails(['./dir'], 'EACCES')
  await fails([`${world.cwd}/plain`], 'EACCES')
})

matrix('C21 C19 a name that PATH has only without permission is EACCES', async () => {
  await prepare('mkdir -p closed; echo x > closed/thing')
  await fails(['thing'], 'EACCES', { env: { PATH: `${world.cwd}/closed` } })
})

matrix('C21 a path through a file is ENOTDIR', async () => {
  await prepare('echo x > plain')
  await fails(['./plain/program'], 'ENOTDIR')
})

matrix('C21 a loop of links is ELOOP', async () => {
  await prepare('ln -sfn loop loop')
  await fails(['./loop'], 'ELOOP')
})

matrix('C21 a name that no file can have is ENAMETOOLONG', async () => {
  await fails([`./${'x'.repeat(300)}`], 'ENAMETOOLONG')
  await fails([`/${'x/'.repeat(3000)}`], 'ENAMETOOLONG')
})

matrix('C21 an interpreter that is missing is ENOENT', async () => {
  await prepare('printf "#!/no/such/interpreter\\n" > orphan; chmod +x orphan')
  await fails(['./orphan'], 'ENOENT')
})

matrix('C21 an interpreter that is no program is its error', async () => {
  await prepare('echo x > plain; printf "#!%s/plain\\n" "$PWD" > script; chmod +x script')
  await fails(['./script'], 'EACCES')
})

matrix('C21 a file that is open for writing is ETXTBSY', async () => {
  await prepare('cp /bin/true busy; chmod +x busy')
  const holder = world.spawn(['sh', '-c', 'exec 3>>busy; echo held; exec sleep 300'], { stdout: 'pipe' })
  await within(new Promise(resolve => holder.stdout.once('data', resolve)), PATIENCE_MS, 'the holder')
  await fails(['./busy'], 'ETXTBSY')
  holder.terminate()
  await settled(holder)
  assert.equal((await world.run(['./busy'])).exitCode, 0)
})

matrix('C21 a program of another machine is not run by the shell', async () => {
  // An ELF header that this kernel knows as one, for a machine that it is not.
  await prepare('{ head -c 18 /bin/true; printf "\\377\\177"; tail -c +21 /bin/true; } > alien; chmod +x alien')
  const handle = world.spawn(['./alien'])
  // execvp's rule: a format that the kernel does not know is read by /bin/sh, which says what it finds and fails.
  const outcome = await settled(handle, 'a program of another machine')
  assert.notEqual(outcome.exitCode, 0)
})

matrix('C19 an executable file of unknown format runs by the shell with its arguments', async () => {
  await prepare('printf \'echo "ran $0 $1"; exit 3\\n\' > bare; chmod +x bare')
  const { exitCode, stdout } = await world.run(['./bare', 'word'])
  assert.deepEqual({ exitCode, stdout }, { exitCode: 3, stdout: 'ran ./bare word\n' })
  const found = await world.run(['bare', 'word'], { env: { PATH: `${world.cwd}:/usr/bin:/bin` } })
  assert.equal(found.exitCode, 3)
  const empty = await prepare(': > empty; chmod +x empty').then(() => world.run(['./empty']))
  assert.equal(empty.exitCode, 0)
})

matrix('C19 a name with a slash is looked up from the command\'s own cwd', async () => {
  await prepare('mkdir -p sub; printf "#!/bin/sh\\nexit 8\\n" > sub/here; chmod +x sub/here')
  assert.equal((await world.run(['./here'], { cwd: `${world.cwd}/sub` })).exitCode, 8)
  assert.equal((await world.run(['sub/here'])).exitCode, 8)
})

matrix('C19 a cwd that is not absolute counts from the home, as for the daemon', async () => {
  const below = basename(world.cwd)
  const home = (await world.witness('cd && pwd')).trim()
  for (const [cwd, meant] of [['', home], ['.', home], ['~', home], [below, world.cwd], [`./${below}/../${below}`, world.cwd], [`~/${below}`, world.cwd]]) {
    const { stdout } = await world.run(['pwd', '-P'], { cwd })
    assert.equal(stdout.trim(), meant, JSON.stringify(cwd))
  }
  await prepare('mkdir -p sub; printf "#!/bin/sh\\nexit 8\\n" > sub/here; chmod +x sub/here')
  assert.equal((await world.run(['sub/here'], { cwd: below })).exitCode, 8)
  assert.equal((await world.run(['./here'], { cwd: `~/${below}/sub` })).exitCode, 8)
  assert.equal((await world.run(['here'], { cwd: below, env: { PATH: 'sub' } })).exitCode, 8)
})

matrix('C19 a bare name is looked up along the command\'s own PATH', async () => {
  await prepare('mkdir -p one two; printf "#!/bin/sh\\nexit 1\\n" > one/pick; printf "#!/bin/sh\\nexit 2\\n" > two/pick; chmod +x two/pick')
  const pick = PATH => world.run(['pick'], { env: { PATH } })
  assert.equal((await pick(`${world.cwd}/one:${world.cwd}/two:/bin:/usr/bin`)).exitCode, 2, 'what cannot be run is passed over')
  await prepare('chmod +x one/pick')
  assert.equal((await pick(`${world.cwd}/one:${world.cwd}/two:/bin:/usr/bin`)).exitCode, 1)
  const here = await world.run(['pick'], { cwd: `${world.cwd}/two`, env: { PATH: '' } })
  assert.equal(here.exitCode, 2, 'an empty path is the working directory')
})

// https://github.com/mattpocock/sandcastle/issues/387
matrix('C21 the kernel\'s limits on arguments are those of a local start (trap F1)', { timeout: 120_000 }, async () => {
  assert.equal((await world.run(['true', ...Array(1000).fill('x'.repeat(1000))])).exitCode, 0)
  assert.equal((await world.run(['true', 'x'.repeat(131_071)])).exitCode, 0)
  await fails(['true', 'x'.repeat(131_072)], 'E2BIG')
  await fails(['true', ...Array(40).fill('x'.repeat(100_000))], 'E2BIG')
  const env = await world.sh('printf %s "$A" | wc -c', { env: { A: 'x'.repeat(131_000) } })
  assert.equal(env.stdout.trim(), '131000')
  await fails(['true'], 'E2BIG', { env: { A: 'x'.repeat(131_072) } })
  const size = 128 * 1024 - 16
  const all = await world.run(['sh', '-c', 'wc -c; printf %s "$1" | wc -c; printf %s "$A" | wc -c', 'sh', 'y'.repeat(size)], {
    env: { A: 'x'.repeat(size) },
    stdin: { data: Buffer.alloc(size) },
  })
  assert.deepEqual(all.stdout.trim().split(/\s+/).map(Number), [size, size, size])
})

matrix('C21 C30 more words than can be sent are refused as the kernel refuses them, and the line stays', { timeout: 120_000 }, async () => {
  const other = world.spawn(['sh', '-c', 'read line; echo "$line"'], { stdin: 'pipe' })
  const large = 'x'.repeat(9_000_000)
  await fails(['true', large], 'E2BIG')
  await fails(['true', ...Array(200).fill('x'.repeat(100_000))], 'E2BIG')
  await fails(['true'], 'E2BIG', { env: { A: large } })
  await fails(['true'], 'ENAMETOOLONG', { cwd: `/${large}` })
  const ended = world.spawn(['true', large])
  ended.terminate()
  await settled(ended).catch(error => assert.equal(error.code, 'E2BIG'))
  assert.equal(await gone(ended), true)
  for (const question of [[large], ['sh', { PATH: large }]]) {
    assert.equal((await rejection(within(world.subprocess.resolveExecutable(...question), PATIENCE_MS, 'an answer'))).code, 'E2BIG')
  }
  other.stdin.end('still there\n')
  await settled(other)
  assert.equal(other.collected.stdout.readFrom(0).text, 'still there\n')
})

for (const [kind, code, make] of [
  ['does not exist', 'ENOENT', 'echo "$PWD/nowhere"'],
  ['is a file', 'ENOTDIR', 'echo x > plain; echo "$PWD/plain"'],
  ['may not be entered', 'EACCES', 'mkdir -p locked; chmod 0 locked; echo "$PWD/locked"'],
  ['lies below a file', 'ENOTDIR', 'echo x > plain; echo "$PWD/plain/below"'],
  ['is a loop of links', 'ELOOP', 'ln -sfn loop loop; echo "$PWD/loop"'],
  ['has a name that is too long', 'ENAMETOOLONG', `echo "$PWD/${'x'.repeat(300)}"`],
]) {
  matrix(`C21 D11 a cwd that ${kind} is Node's own spawn error`, async () => {
    const { stdout } = await world.sh(make)
    const error = await fails(['true'], code, { cwd: stdout.trim() })
    assert.match(error.message, new RegExp(code))
    await fails(['no-such-program-anywhere'], code, { cwd: stdout.trim() })
  })
}

matrix('C21 a cwd that was removed after it was made is ENOENT and a link to a directory is fine', async () => {
  await prepare('mkdir -p real; ln -sfn real alias')
  const { stdout } = await world.run(['pwd', '-P'], { cwd: `${world.cwd}/alias` })
  assert.equal(stdout.trim(), `${world.cwd}/real`)
  await prepare('rmdir real')
  await fails(['true'], 'ENOENT', { cwd: `${world.cwd}/alias` })
})

matrix('C21 the streams of a start that failed end', async () => {
  const handle = world.spawn(['no-such-program-anywhere'], { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' })
  const ends = [drain(handle.stdout, 'stdout'), drain(handle.stderr, 'stderr')]
  handle.stdin.on('error', () => {})
  handle.stdin.end('nobody reads this')
  assert.equal((await rejection(handle.done)).code, 'ENOENT')
  for (const bytes of await Promise.all(ends)) assert.equal(bytes.length, 0)
  await within(new Promise(resolve => (handle.stdin.closed ? resolve() : handle.stdin.once('close', resolve))), PATIENCE_MS, 'the end of stdin')
})

matrix('C21 C17 a failed start has empty collected output', async () => {
  const handle = world.spawn(['no-such-program-anywhere'])
  await rejection(handle.done)
  assert.deepEqual(handle.collected.stdout.readFrom(0), { text: '', nextOffset: 0, lossy: false })
})

matrix('C30 terminate after a failed start does nothing', async () => {
  const handle = world.spawn(['no-such-program-anywhere'])
  const error = await rejection(handle.done)
  handle.terminate()
  assert.equal(await rejection(handle.done), error)
  assert.equal(await gone(handle), true)
})

matrix('C23 a failed start that nobody looks at ends no harness', async () => {
  const unhandled = []
  const note = reason => unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    const handle = world.spawn(['no-such-program-anywhere'])
    await gone(handle)
    await new Promise(setImmediate)
    assert.deepEqual(unhandled, [])
  } finally {
    process.off('unhandledRejection', note)
  }
})

// https://github.com/TencentCloud/CubeSandbox/issues/136
matrix('C20 a shell whose program is missing exits 127 at once (trap B2)', async () => {
  const before = performance.now()
  const { exitCode, stderr } = await world.run(['sh', '-c', 'no-such-node -e 1'])
  assert.equal(exitCode, 127)
  assert.match(stderr, /not found/)
  assert.ok(performance.now() - before < SOON_MS)
})

// weijiafu14/dsh-remote-sandbox: README.md
matrix('C21 C40 a path of the host is not found in the sandbox at once (trap K13)', async () => {
  const before = performance.now()
  await fails(['/host/only/node_modules/x/rg', '--version'], 'ENOENT')
  const error = await rejection(world.subprocess.resolveExecutable('/host/only/node_modules/x/rg'))
  assert.match(error.message, /\/host\/only\/node_modules\/x\/rg/)
  assert.ok(performance.now() - before < SOON_MS)
})

// https://github.com/microsoft/vscode-languageserver-node/issues/857
matrix('C20 a server that ends because its parent is not there is told with its last words (trap K11)', async () => {
  const server = 'import os,sys\ntry:\n  os.kill(int(sys.argv[1]),0)\nexcept ProcessLookupError:\n  print("parent is gone",file=sys.stderr); sys.exit(1)'
  const { exitCode, stderr } = await world.run(['python3', '-c', server, '4194303'])
  assert.equal(exitCode, 1)
  assert.match(stderr, /parent is gone/)
})
