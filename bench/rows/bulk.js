/**
 * How fast bytes go through raw pipes.
 * @module bench/rows/bulk
 */
const ALL = ['bare', 'ts', 'native']
const MIB = 1024 * 1024
const FILE = 8 * MIB

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

/** Programs that say so many bytes: of what packs best, of what people read, of what does not pack. */
const PROGRAMS = {
  zeros: bytes => ['head', '-c', String(bytes), '/dev/zero'],
  text: bytes => copies('text', 'LC_ALL=C ls -lR /usr/lib /usr/share /etc', bytes),
  noise: bytes => copies('noise', 'head -c 1M /dev/urandom', bytes),
}

/** What `source` says first, out of a file, since making it costs more than moving it. With 0 bytes it only makes the file. */
function copies(name, source, bytes) {
  const file = `/tmp/dsh-bench-${name}`
  const make = `if [ ! -s ${file} ]; then : > ${file}.$$; until [ $(stat -c %s ${file}.$$) -ge ${FILE} ]; do ${source} >> ${file}.$$; done;
    truncate -s ${FILE} ${file}.$$; mv ${file}.$$ ${file}; fi`
  const files = Array.from({ length: bytes / FILE }, () => file)
  return ['sh', '-c', files.length === 0 ? make : `exec cat ${files.join(' ')}`]
}

function output(streams, kind = 'zeros') {
  const program = PROGRAMS[kind]
  const made = kind === 'zeros' ? '' : ` of ${kind}`
  return {
    name: kind === 'zeros' ? `out-${streams}` : `out-${kind}`,
    what: streams === 1 ? `raw pipe throughput${made}` : `raw pipe throughput, ${streams} streams at once`,
    unit: 'MiB/s', target: '≥ 1× bare', better: 'higher', subjects: ALL, timeoutMs: 180_000,
    prepare: kind === 'zeros' ? warm : ({ subject }) => subject.collect(program(0)),
    measure(context) {
      const each = Math.ceil(size(context, 512 * MIB) / streams)
      return rate(each * streams, () => Promise.all(Array.from({ length: streams }, async () => {
        let seen = 0
        await context.subject.pipe(program(each), bytes => { seen += bytes }).done
        if (seen !== each) throw new Error(`${seen} of ${each} bytes came`)
      })))
    },
  }
}

/** @type {import('./index.js').Row[]} */
export const bulkRows = [
  output(1),
  output(8),
  output(1, 'text'),
  output(1, 'noise'),
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
