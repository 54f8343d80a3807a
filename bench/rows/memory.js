/**
 * Host memory while output is collected, in a process that did nothing before but one short command.
 * @module bench/rows/memory
 */
import { readFileSync, writeFileSync } from 'node:fs'

const MIB = 1024 * 1024
const GIB = 1024 * MIB
/** Written to `clear_refs`, sets the peak of resident memory to the present. See proc(5). */
const RESET_PEAK = '5'

function collected(name, title, bytes, subjects) {
  return {
    name: `memory-${name}`,
    what: `host memory over idle for ${title} of collected output`,
    unit: 'MiB', target: '≤ 32', subjects, fresh: true, timeoutMs: 600_000,
    prepare: ({ subject }) => subject.collect(['true']),
    async measure({ subject }) {
      globalThis.gc()
      writeFileSync('/proc/self/clear_refs', RESET_PEAK)
      const idle = status('VmRSS')
      await subject.collect(['head', '-c', String(bytes), '/dev/zero'])
      return status('VmHWM') - idle
    },
  }
}

function status(key) {
  return Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(readFileSync('/proc/self/status', 'utf8'))[1]) / 1024
}

/** @type {import('./index.js').Row[]} */
export const memoryRows = [
  collected('256m', '256 MiB', 256 * MIB, ['ts', 'native']),
  collected('512m', '512 MiB', 512 * MIB, ['ts', 'native']),
  { ...collected('10g', '10 GiB', 10 * GIB, ['native']), long: true },
]
