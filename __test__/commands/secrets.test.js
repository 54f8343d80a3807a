import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { runHarness } from './harness.js'
import { PATIENCE_MS, end, matrix, rejection, says, settled, unless, useWorld } from './world.js'
import { until } from '../support/deadline.js'

// The daemon must say everything that it would say anywhere.
process.env.SANDBOXD_LOG ??= 'trace'
const world = useWorld()

/** A value that occurs nowhere else. */
const secret = () => `s3cr3t-${randomBytes(12).toString('hex')}`

/** Where a value is seen: files that hold it, by root, the searcher's own things aside. */
async function seen(value, places) {
  // The pattern is put together where it is used, so that the search does not find itself.
  const [a, b] = [value.slice(0, 12), value.slice(12)]
  const found = await world.witness(`p=${a}; p="$p"${b.slice(0, 5)}; p="$p"${b.slice(5)}; printf '%s\\n' "$p" | grep -lasF -f - ${places} 2>/dev/null | grep -v -e "/proc/$$/" -e /proc/self -e thread-self`, { user: 'root' })
  return found.trim().split('\n').filter(Boolean)
}

const FILES = '-r /home /tmp /var /run /root /etc /opt'

// https://github.com/benchflow-ai/benchflow/issues/412
matrix('C13 an explicit value is in no argument list, no file and no listing (trap F6)', { timeout: 120_000 }, async () => {
  const value = secret()
  const handle = world.spawn(['sh', '-c', 'echo up; exec sleep 300'], { env: { SECRET_TOKEN: value } })
  await says(handle, /up/)
  assert.deepEqual(await seen(value, '/proc/[0-9]*/environ'), [`/proc/${handle.pid}/environ`], 'control: the search finds it where it is')
  assert.deepEqual(await seen(value, '/proc/[0-9]*/cmdline'), [])
  assert.deepEqual(await seen(value, FILES), [])
  const sandbox = await world.composition.sandbox()
  assert.ok(!JSON.stringify(await sandbox.commands.list()).includes(value), 'the listing of the daemon')
  assert.ok(!world.server.log().includes(value), 'the log of the daemon')
  await end(handle)
  assert.deepEqual(await seen(value, FILES), [], 'after it')
})

// https://github.com/benchflow-ai/benchflow/issues/412
matrix('C13 an explicit value is in no argument list at any moment of the start (trap F6)', { timeout: 120_000 }, async () => {
  const value = secret()
  const [a, b] = [value.slice(0, 10), value.slice(10)]
  const script = `import os,sys,time
want=(sys.argv[1]+sys.argv[2]).encode()
print("watching",flush=True)
end=time.time()+20
seen=set()
while time.time()<end and not os.path.exists(sys.argv[3]):
  for p in os.listdir("/proc"):
    if p.isdigit():
      try:
        if want in open("/proc/"+p+"/cmdline","rb").read(): seen.add("cmdline")
      except OSError: pass
print("saw",sorted(seen),flush=True)`
  const watcher = world.spawn(['python3', '-c', script, a, b, `${world.cwd}/stop`])
  await says(watcher, /watching/)
  for (let at = 0; at < 20; at += 1) await world.run(['true'], { env: { SECRET_TOKEN: value } })
  await world.run(['touch', 'stop'])
  await settled(watcher)
  await says(watcher, /saw \[\]/)
})

matrix('C63 the key and the access token are in no program\'s world', { timeout: 120_000 }, async () => {
  const sandbox = await world.composition.sandbox()
  const handle = world.spawn(['sh', '-c', 'echo up; exec sleep 300'])
  await says(handle, /up/)
  for (const value of [world.server.apiKey, sandbox.envdAccessToken].filter(Boolean)) {
    assert.deepEqual(await seen(value, '/proc/[0-9]*/environ'), [])
    assert.deepEqual(await seen(value, '/proc/[0-9]*/cmdline'), [])
    assert.deepEqual(await seen(value, FILES), [])
  }
  await end(handle)
})

/** Everything that an inspection could show of a thing and what hangs on it. */
function shown(thing) {
  return inspect(thing, { depth: 12, showHidden: true, getters: true, maxArrayLength: null, maxStringLength: null }) + (() => {
    try {
      return JSON.stringify(thing)
    } catch {
      return ''
    }
  })()
}

test('C63 the key and the token are in no inspection of service or handle, and in no error', { skip: unless('native'), timeout: 120_000 }, async () => {
  const sandbox = await world.composition.sandbox()
  const values = [world.server.apiKey, sandbox.envdAccessToken].filter(Boolean)
  assert.ok(values.length > 0)
  const { native, config, live } = world.subprocess
  const handle = world.spawn(['sleep', '300'])
  const failed = world.spawn(['no-such-program-anywhere'])
  const error = await rejection(failed.done)
  const things = { native, config, live, handle: handle.native, failed: failed.native, error, stack: error.stack, cause: error.cause }
  for (const [what, thing] of Object.entries(things)) {
    for (const value of values) assert.ok(!shown(thing).includes(value), `${what} shows a secret`)
  }
  assert.ok(shown(sandbox).includes(values.at(-1)), 'control: the vendor\'s own object shows it')
  await end(handle)
})

test('C13 C63 an inspection of a handle and its failure show no explicit value', { skip: unless('native') }, async () => {
  const value = secret()
  const handle = world.spawn(['sleep', '300'], { env: { SECRET_TOKEN: value } })
  assert.ok(!shown(handle).includes(value), 'a running handle')
  await end(handle)
  const failed = world.spawn(['no-such-program-anywhere'], { env: { SECRET_TOKEN: value }, stdin: { data: value } })
  const error = await rejection(failed.done)
  assert.ok(!shown(error).includes(value), 'an error')
  assert.ok(!shown(failed).includes(value), 'a handle that failed')
  const refused = (() => {
    try {
      return rejection(world.spawn(['true'], { env: { SECRET_TOKEN: `${value}\0` } }).done)
    } catch (thrown) {
      return thrown
    }
  })()
  assert.ok(!shown(await refused).includes(value), 'a refusal')
})

test('C84 C63 the debug log says what happens and no secret', { skip: unless('native'), timeout: 120_000 }, async () => {
  const value = secret()
  const { code, stderr } = await runHarness(world, async (world, lib) => {
    const value = process.env.PLANTED
    const sandbox = await world.composition.sandbox()
    const handle = world.spawn(['sh', '-c', 'cat; exit 3'], { env: { SECRET_TOKEN: value }, stdin: { data: value } })
    await lib.settled(handle)
    await lib.rejection(world.spawn(['no-such-program-anywhere'], { env: { SECRET_TOKEN: value } }).done)
    process.stdout.write(JSON.stringify(sandbox.envdAccessToken ?? ''))
    await world.composition.dispose()
  }, { env: { DSH_SUBPROCESS_LOG: 'trace', PLANTED: value } })
  assert.equal(code, 0, stderr.slice(-2000))
  assert.ok(stderr.length > 100, 'there is a log')
  for (const word of [value, Buffer.from(value).toString('base64').slice(0, 20), world.server.apiKey]) {
    assert.ok(!stderr.includes(word), 'the debug log shows a secret')
  }
})

test('C84 D5 without its switch nothing is logged or printed', { skip: unless('native'), timeout: 120_000 }, async () => {
  const { code, stdout, stderr } = await runHarness(world, async (world, lib) => {
    await lib.settled(world.spawn(['true']))
    await lib.rejection(world.spawn(['no-such-program-anywhere']).done)
    await world.composition.dispose()
  })
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: '', stderr: '' })
})

matrix('C13 values that were given leave no file after the start', { timeout: 90_000 }, async () => {
  const value = secret()
  await Promise.all(Array.from({ length: 20 }, () => world.run(['true'], { env: { SECRET_TOKEN: value } })))
  await until(async () => (await seen(value, FILES)).length === 0, PATIENCE_MS, 'no file with the value')
})

test('control: a value in an argument list is found by the same search', async () => {
  const value = secret()
  const handle = world.spawn(['sh', '-c', 'echo up; sleep 300; true', value])
  await says(handle, /up/)
  assert.ok((await seen(value, '/proc/[0-9]*/cmdline')).length > 0)
  await world.sh('printf %s "$V" > planted', { env: { V: value } })
  assert.deepEqual(await seen(value, FILES), [`${world.cwd}/planted`])
  await end(handle)
})

test('C63 an inspected service does not show its session, nor a handle what goes into it', { skip: unless('native') }, async () => {
  const session = randomBytes(24).toString('hex')
  const other = await world.another({ session })
  const data = `${session} as well`
  const handle = other.spawn(['sleep', '300'], { stdin: { data: Buffer.alloc(1 << 20, data) } })
  const terminal = await other.subprocess.spawnTerminal({ argv: ['sleep', '300'], cwd: '/', rows: 2, cols: 2, graceMs: 100 })
  const typed = terminal.write(data.repeat(100_000)).catch(() => {})
  for (const thing of [other.subprocess, handle, terminal]) {
    const shown = inspect(thing, { depth: 6 })
    assert.ok(!shown.includes(session), shown.slice(0, 2000))
    assert.ok(!shown.includes(Buffer.from(session.slice(0, 8)).toString('hex').match(/../g).join(' ')), shown.slice(0, 2000))
  }
  await terminal.terminate()
  await typed
  await other.composition.dispose()
})
