import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { end, gone, mark, says, settled, text, unless, useWorld, PATIENCE_MS } from './world.js'
import { until } from '../support/deadline.js'

const world = useWorld()
const skip = unless('sandboxd')
  || (process.getuid() !== 0 && 'sets the next process id, which only root may')
  || (!existsSync('/proc/sys/kernel/ns_last_pid') && 'this kernel does not let anybody set the next process id')
const options = { skip, timeout: 120_000 }
const GRACE_MS = 300

/** A process of this machine whose arguments are these: one of the sandbox, seen from outside. */
function seenFromOutside(...args) {
  const wanted = `${args.join('\0')}\0`
  return readdirSync('/proc').find(name => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1') === wanted
    } catch {
      return false
    }
  })
}

/** Something in the sandbox that starts a sleeper whenever it is told to, and says its id. */
async function forker() {
  const [anchor, n] = [mark(), mark()]
  const handle = world.spawn(['sh', '-c', `sleep ${anchor} & while read go; do sleep ${n} & echo "<$!>"; done`], { stdin: 'pipe' })
  const outside = await until(() => seenFromOutside('sleep', anchor), PATIENCE_MS, 'the sandbox from outside')
  let count = 0
  return {
    handle,
    n,
    /** Makes it start one under `pid`, which must be free; whoever else starts something meanwhile gets it instead, hence again. */
    takes: pid => until(async () => {
      execFileSync('nsenter', [`--pid=/proc/${outside}/ns/pid`, 'sh', '-c', `echo ${pid - 1} > /proc/sys/kernel/ns_last_pid`])
      handle.stdin.write('\n')
      count += 1
      const said = await until(() => [...text(handle).matchAll(/<(\d+)>/g)][count - 1], PATIENCE_MS, 'the id of a sleeper')
      return Number(said[1]) === pid
    }, PATIENCE_MS, `a sleeper under id ${pid}`),
  }
}

test('C33 C30 terminate after the end reaches nobody who has the number of the command now', options, async () => {
  const other = await forker()
  const ended = world.spawn(['true'], { graceMs: GRACE_MS })
  assert.deepEqual(await settled(ended), { exitCode: 0, signal: null })
  assert.equal(await gone(ended), true)
  await other.takes(ended.pid)
  ended.terminate()
  assert.equal(await gone(ended), true)
  // Whoever would be killed by number is dead when the grace of a later command is over.
  await end(world.spawn(['sh', '-c', 'trap "" TERM; sleep 300'], { graceMs: GRACE_MS }))
  assert.match(await world.witness(`cat /proc/${ended.pid}/cmdline | tr "\\0" " "`), new RegExp(`^sleep ${other.n}`))
  await end(other.handle)
})

test('C33 terminate reaches nobody who has the number of a member that has ended', options, async () => {
  const other = await forker()
  // A job with a group of its own: its number is a group's too.
  const handle = world.spawn(['bash', '-c', 'set -m; sleep 300 & echo "<$!>"; read go; kill -KILL %1; wait; echo over; sleep 300'], { stdin: 'pipe', graceMs: GRACE_MS })
  const pid = Number((await says(handle, /<(\d+)>/))[1])
  handle.stdin.write('\n')
  await says(handle, /over/)
  await other.takes(pid)
  handle.terminate()
  assert.equal(await gone(handle), true)
  await settled(handle)
  assert.match(await world.witness(`cat /proc/${pid}/cmdline | tr "\\0" " "`), new RegExp(`^sleep ${other.n}`))
  await end(other.handle)
})

test('control: a kill by the number would have reached it', options, async () => {
  const other = await forker()
  const ended = world.spawn(['true'])
  await gone(ended)
  await other.takes(ended.pid)
  await world.witness(`kill -KILL ${ended.pid}`)
  await world.untilWitness(`grep -o "Z (zombie)" /proc/${ended.pid}/status`, 'Z (zombie)')
  await end(other.handle)
})
