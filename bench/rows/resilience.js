/**
 * Bytes on a line that is cut again and again.
 * @module bench/rows/resilience
 */
import { createHash } from 'node:crypto'

const MIB = 1024 * 1024

/** Numbered lines: a lost or repeated byte changes the sum. */
function numbered(bytes) {
  const lines = []
  for (let i = 0, size = 0; size < bytes; i++) {
    const line = `${i}\n`
    lines.push(line)
    size += line.length
  }
  return Buffer.from(lines.join('')).subarray(0, bytes)
}

function cuts(everyMs, delayMs, bytes) {
  return {
    name: `cuts-${everyMs}`,
    what: `bytes lost or repeated when the connection is cut every ${everyMs} ms${delayMs > 0 ? ` (${2 * delayMs} ms round trip)` : ''}`,
    unit: 'B', target: '0', subjects: ['ts', 'native'], line: { delayMs, bytesPerSecond: 10 * MIB }, fresh: true, timeoutMs: 180_000,
    prepare: ({ subject }) => subject.collect(['true']),
    async measure({ subject, quick }) {
      const size = quick ? bytes / 4 : bytes
      const want = numbered(size)
      const { subprocess, cwd } = subject.composition
      const handle = subprocess.spawn({
        argv: ['sh', '-c', `seq 0 100000000 | head -c ${size}`], cwd, graceMs: 2000, env: {},
        stdio: { stdin: 'ignore', stdout: 'pipe', stderr: { maxBytes: 1024 } },
      })
      const got = []
      handle.stdout.on('data', chunk => got.push(chunk))
      handle.stdout.on('error', () => {})
      const cutter = setInterval(() => process.send({ ask: 'cut' }), everyMs)
      try {
        await handle.done
        if (!handle.stdout.readableEnded) await new Promise(resolve => handle.stdout.once('end', resolve))
      } finally {
        clearInterval(cutter)
      }
      const all = Buffer.concat(got)
      const same = createHash('sha256').update(all).digest('hex') === createHash('sha256').update(want).digest('hex')
      return same ? 0 : Math.max(1, Math.abs(all.length - want.length))
    },
  }
}

/** @type {import('./index.js').Row[]} */
export const resilienceRows = [cuts(100, 0, 32 * MIB), cuts(1000, 25, 64 * MIB)]
