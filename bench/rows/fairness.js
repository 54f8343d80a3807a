/**
 * A short command beside a bulk transfer on a slow line.
 * @module bench/rows/fairness
 */
import { median } from '../statistics.js'

const MIB = 1024 * 1024
/** Bytes that go packed, so that what follows must not be sent as fast as they were. */
const ZEROS = 10 * MIB
/** The transfer has filled whatever buffers there are by then. */
const WARM_BYTES = 20 * MIB
const PROBES = 5

/** @type {import('./index.js').Row[]} */
export const fairnessRows = [
  {
    name: 'short-beside-bulk',
    what: 'a short command during a bulk transfer, 10 MiB/s, 50 ms round trip',
    unit: 'ms', target: '≤ 3 round trips', subjects: ['bare', 'ts', 'native'],
    line: { delayMs: 25, bytesPerSecond: 10 * MIB }, fresh: true, timeoutMs: 120_000,
    prepare: ({ subject }) => subject.collect(['true']),
    async measure({ subject }) {
      let flowing
      const warm = new Promise(resolve => { flowing = resolve })
      let seen = 0
      const bulk = subject.pipe(['sh', '-c', `head -c ${ZEROS} /dev/zero; exec cat /dev/urandom`], bytes => {
        seen += bytes
        if (seen >= WARM_BYTES) flowing()
      })
      bulk.done.catch(() => {})
      await warm
      const taken = []
      for (let i = 0; i < PROBES; i++) {
        const start = performance.now()
        await subject.collect(['true'])
        taken.push(performance.now() - start)
      }
      bulk.stop()
      return median(taken)
    },
  },
]
