/**
 * This checkout's own sources, as the demo's material.
 * @module demo/sources
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { root } from './prepare.js'

const SKIPPED = new Set(['.git', 'node_modules', 'target', 'build', 'npm', 'results'])
const MAX_FILE = 1024 * 1024

/**
 * Reads the sources on the host.
 * @returns {{ names: string[], bytes: number, lines: number, sums: string, archive: string }} sorted names;
 *   newlines in all; the text that `sha256sum` prints for them; and a compressed tar, in base64 since the bash
 *   seam's stdin is text
 */
export function readSources() {
  const names = walk(root).sort(byBytes)
  let bytes = 0
  let lines = 0
  let sums = ''
  for (const name of names) {
    const content = readFileSync(join(root, name))
    bytes += content.length
    for (const byte of content) if (byte === 10) lines++
    sums += `${createHash('sha256').update(content).digest('hex')}  ./${name}\n`
  }
  return { names, bytes, lines, sums, archive: pack(names).toString('base64') }
}

/** The order of `LC_ALL=C sort`. */
function byBytes(a, b) {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}

function walk(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return SKIPPED.has(entry.name) ? [] : walk(path)
    const small = entry.isFile() && !/\.(node|tgz)$/.test(entry.name) && readFileSync(path).length <= MAX_FILE
    return small ? [relative(root, path).split(sep).join('/')] : []
  })
}

function pack(names) {
  const tar = spawnSync('tar', ['-czf', '-', '--null', '-T', '-'], { cwd: root, input: names.join('\0'), maxBuffer: 1 << 28 })
  if (tar.error !== undefined) throw tar.error
  if (tar.status !== 0) throw new Error(`tar: ${tar.stderr}`)
  return tar.stdout
}
