import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROVIDER, PATIENCE_MS, end, matrix, says, settled, unless, useWorld } from './world.js'
import { compose } from '../support/composition.js'
import { until, within } from '../support/deadline.js'
import { startServer } from '../support/server.js'

const world = useWorld()
const TAIL = 100

/** Starts a line of `sh` whose stdout spills up to `cap`. */
function spilling(script, cap, options) {
  return world.spawn(['sh', '-c', script], { stdout: { maxBytes: TAIL, spill: { maxBytes: cap } }, ...options })
}

function read(handle, offset = 0) {
  return handle.collected.stdout.readFrom(offset)
}

/** Files of spilled output that are in the sandbox, by the witness. */
async function spills() {
  const listing = await world.witness(`find ${world.cwd}/.dsh-e2b -type f -size +${TAIL / 2}c ! -perm -u+x 2>/dev/null`, { user: 'root' })
  return listing.trim().split('\n').filter(Boolean)
}

matrix('C17 a stream that outgrows its tail below the cap has a complete spill file', async () => {
  for (const size of [TAIL + 1, 5_000, 99_999, 100_000]) {
    const handle = spilling(`yes 0123456789 | head -c ${size}`, 100_000)
    await settled(handle)
    const { lossy, nextOffset, spillPath } = read(handle)
    assert.deepEqual({ lossy, nextOffset }, { lossy: true, nextOffset: size })
    assert.equal(typeof spillPath, 'string', `${size} bytes have a file`)
    const { stdout } = await world.sh(`wc -c < "$P"; sha256sum < "$P"; yes 0123456789 | head -c ${size} | sha256sum`, { env: { P: spillPath } })
    const [length, there, wanted] = stdout.trim().split('\n')
    assert.equal(Number(length), size)
    assert.equal(there, wanted)
    assert.equal('spillPath' in read(handle, nextOffset), false, 'nothing is missing there')
  }
})

matrix('C17 a stream over its cap loses its file', async () => {
  for (const size of [100_001, 500_000]) {
    const before = await spills()
    const handle = spilling(`yes 0123456789 | head -c ${size}`, 100_000)
    await settled(handle)
    assert.equal(read(handle).lossy, true)
    assert.equal(read(handle).spillPath, undefined)
    assert.deepEqual(await spills(), before)
  }
})

matrix('C17 a stream that fits its tail keeps no file', async () => {
  const before = await spills()
  for (const size of [0, 1, TAIL - 1, TAIL]) {
    const handle = spilling(`yes 0123456789 | head -c ${size}`, 100_000)
    await settled(handle)
    assert.equal(read(handle).lossy, false)
    assert.equal(read(handle).spillPath, undefined)
  }
  assert.deepEqual(await spills(), before)
})

matrix('C17 a spill file belongs to the user alone, below a private directory', async () => {
  const handle = spilling('yes | head -c 5000', 100_000)
  await settled(handle)
  const { spillPath } = read(handle)
  assert.ok(spillPath.startsWith('/'), spillPath)
  assert.equal((await world.witness(`stat -c "%a %U" "${spillPath}"`)).trim(), '600 user')
  assert.equal((await world.witness(`stat -c "%a %U" "${world.cwd}/.dsh-e2b"`)).trim(), '700 user')
  assert.ok(spillPath.startsWith(`${world.cwd}/.dsh-e2b/`), spillPath)
})

matrix('C17 without a spill no file is made and no path is given', async () => {
  const before = await spills()
  const handle = world.spawn(['sh', '-c', 'yes | head -c 5000'], { stdout: { maxBytes: TAIL } })
  await settled(handle)
  assert.deepEqual([read(handle).lossy, read(handle).spillPath], [true, undefined])
  assert.deepEqual(await spills(), before)
})

matrix('C17 a running command shows the file once it holds all that came so far', async () => {
  const handle = spilling('yes | head -c 5000; read go; yes | head -c 5000; read go', 100_000, { stdin: 'pipe' })
  for (const size of [5000, 10_000]) {
    const { spillPath } = await until(() => {
      const answer = read(handle)
      return answer.nextOffset === size && answer.spillPath !== undefined && answer
    }, PATIENCE_MS, `a file with ${size} bytes`)
    assert.equal((await world.sh('wc -c < "$P"', { env: { P: spillPath } })).stdout.trim(), String(size))
    handle.stdin.write('\n')
  }
  handle.stdin.end()
  await settled(handle)
})

matrix('C17 two streams of one command have two files', async () => {
  const mode = { maxBytes: TAIL, spill: { maxBytes: 10_000 } }
  const handle = world.spawn(['sh', '-c', 'yes out | head -c 2000; yes err | head -c 3000 >&2'], { stdout: mode, stderr: mode })
  await settled(handle)
  const paths = ['stdout', 'stderr'].map(name => handle.collected[name].readFrom(0).spillPath)
  assert.equal(new Set(paths).size, 2)
  const { stdout } = await world.sh('wc -c < "$A"; wc -c < "$B"; head -1 "$A"; head -1 "$B"', { env: { A: paths[0], B: paths[1] } })
  assert.deepEqual(stdout.trim().split('\n'), ['2000', '3000', 'out', 'err'])
})

matrix('C22 past the grace the spill of a stream that somebody holds is withheld', async () => {
  const handle = world.spawn(['bash', '-c', '(sleep 1; yes | head -c 9000; sleep 300) & yes | head -c 5000'], {
    stdout: { maxBytes: TAIL, spill: { maxBytes: 100_000 } },
    graceMs: 300,
  })
  await settled(handle)
  assert.equal(read(handle).spillPath, undefined)
  await end(handle)
  assert.equal(read(handle).spillPath, undefined)
})

matrix('C17 a command that is killed has the file of what it wrote', async () => {
  const handle = spilling('yes | head -c 5000; echo up >&2; exec sleep 300', 100_000)
  await says(handle, /up/, 'stderr')
  await until(() => read(handle).nextOffset === 5000, PATIENCE_MS, 'all output')
  handle.terminate()
  await settled(handle)
  const { spillPath } = read(handle)
  assert.equal((await world.sh('wc -c < "$P"', { env: { P: spillPath } })).stdout.trim(), '5000')
})

const full = unless('sandboxd') || unless('native') || (process.getuid() !== 0 && 'mounts a small disk, which only root may')

test('C17 a full disk withholds the file and changes nothing else', { skip: full, timeout: 120_000 }, async () => {
  const disk = mkdtempSync(join(tmpdir(), 'small-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=777', 'none', disk])
  const server = await startServer(['--no-isolation'])
  let other
  try {
    mkdirSync(join(disk, 'work'), { mode: 0o777 })
    other = await compose(server, { provider: PROVIDER, cwd: join(disk, 'work') })
    const spec = size => ({
      argv: ['sh', '-c', `yes | head -c ${size}; exit 3`], cwd: '/', graceMs: 1000,
      stdio: { stdin: 'ignore', stdout: { maxBytes: TAIL, spill: { maxBytes: 64 * 1024 * 1024 } }, stderr: { maxBytes: TAIL } },
    })
    const small = other.subprocess.spawn(spec(100_000))
    await within(small.done, PATIENCE_MS, 'a small spill')
    assert.equal(typeof read(small).spillPath, 'string', 'control: there is room for this one')
    const large = other.subprocess.spawn(spec(32 * 1024 * 1024))
    assert.deepEqual(await within(large.done, PATIENCE_MS, 'a spill that is too large'), { exitCode: 3, signal: null })
    assert.equal(read(large).nextOffset, 32 * 1024 * 1024)
    assert.equal(read(large).spillPath, undefined)
    const next = other.subprocess.spawn(spec(200_000))
    await within(next.done, PATIENCE_MS, 'a spill after it')
    assert.equal(typeof read(next).spillPath, 'string', 'the room was given back')
  } finally {
    await other?.dispose().catch(() => {})
    await server.stop()
    execFileSync('umount', ['-l', disk])
    rmSync(disk, { recursive: true, force: true })
  }
})
