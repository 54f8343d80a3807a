/**
 * Proves that the demo leaves nothing behind: no process that it started, no file in its temporary directory,
 * no sandbox.
 * @module demo/leftovers
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../__test__/support/deadline.js'

const SETTLE_MS = 5_000

/**
 * Gives the demo, its server and its libraries a temporary directory of their own.
 * @returns {{ files: () => string[], remove: () => void }}
 */
export function ownTemporaryDirectory() {
  const path = mkdtempSync(join(tmpdir(), 'dsh-demo-'))
  process.env.TMPDIR = path
  return { files: () => readdirSync(path), remove: () => rmSync(path, { recursive: true, force: true }) }
}

/**
 * Every process below this one, by id and start time, as ids are used again.
 * @returns {Map<string, string>} `PID START` to its command; empty where there is no /proc
 */
export function descendants() {
  const parents = new Map()
  for (const name of list('/proc')) {
    const stat = /^\d+$/.test(name) ? read(`/proc/${name}/stat`) : ''
    if (stat === '') continue
    // The command stands in parentheses and may hold anything; the fields begin after the last one.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    parents.set(name, { parent: fields[1], key: `${name} ${fields[19]}`, command: stat.slice(stat.indexOf('('), stat.lastIndexOf(')') + 1) })
  }
  const below = new Map()
  for (const [pid, { key, command }] of parents) {
    let at = pid
    while (at !== undefined && at !== String(process.pid)) at = parents.get(at)?.parent
    if (at !== undefined && pid !== String(process.pid)) below.set(key, command)
  }
  return below
}

/**
 * Waits until none of `seen` is left, at most five seconds.
 * @param {Map<string, string>} seen from {@link descendants}, taken while the work ran
 * @returns {Promise<string[]>} those that are still there
 */
export async function survivors(seen) {
  const left = () => [...seen].filter(([key]) => {
    const [pid, start] = key.split(' ')
    const stat = read(`/proc/${pid}/stat`)
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return stat !== '' && fields[19] === start && fields[0] !== 'Z'
  }).map(([key, command]) => `${key.split(' ')[0]} ${command}`)
  await until(() => left().length === 0, SETTLE_MS, 'the end of our processes').catch(() => {})
  return left()
}

function list(path) {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

function read(path) {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
