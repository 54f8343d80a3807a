/**
 * How fast bytes go through raw pipes.
 * @module bench/rows/bulk
 */
const ALL = ['bare', 'ts', 'native']
const MIB = 1024 * 1024

/** The original moves tens of MiB a second: a shorter transfer of it says the same in bearable time. */
function size({ name, quick }, full) {
  return (name === 'ts' ? full / 16 : full) / (quick ? 4 : 1)
}

async function rate(bytes, work) {
  const start = performance.now()
  await work()
  return bytes / MIB / ((performance.now() - start) / 1000)
}

const warm = ({ subject }) => subject.collect(['true'])

function output(streams) {
  return {
    name: `out-${streams}`,
    what: streams === 1 ? 'raw pipe throughput' : `raw pipe throughput, ${streams} streams at once`,
    unit: 'MiB/s', target: '≥ 1× bare', better: 'higher', subjects: ALL, timeoutMs: 180_000, prepare: warm,
    measure(context) {
      const each = Math.ceil(size(context, 512 * MIB) / streams)
      return rate(each * streams, () => Promise.all(Array.from({ length: streams }, async () => {
        let seen = 0
        await context.subject.pipe(['head', '-c', String(each), '/dev/zero'], bytes => { seen += bytes }).done
        if (seen !== each) throw new Error(`${seen} of ${each} bytes came`)
      })))
    },
  }
}

/** @type {import('./index.js').Row[]} */
export const bulkRows = [
  output(1),
  output(8),
  {
    name: 'in',
    what: 'stdin throughput',
    unit: 'MiB/s', target: '≥ 0.6× bare', better: 'higher', subjects: ALL, timeoutMs: 180_000, prepare: warm,
    measure(context) {
      const bytes = size(context, 512 * MIB)
      return rate(bytes, () => context.subject.feed(['sh', '-c', 'cat > /dev/null'], bytes))
    },
  },
]
