/**
 * What is measured.
 * @module bench/local/rows
 */
import { median } from '../statistics.js'

const ALL = ['node', 'ts', 'native']
const WINDOW = 1 << 20
const MIB = 2 ** 20
const TRUE = ['/bin/true']
const zeros = bytes => ['head', '-c', String(bytes), '/dev/zero']

/** Medians of how long `act` holds the caller, and of how long until `done`. */
async function short(act, times) {
  const [held, took] = [[], []]
  for (let time = 0; time < times; time++) {
    const start = performance.now()
    const { done } = act()
    held.push(performance.now() - start)
    await done
    took.push(performance.now() - start)
  }
  const warm = Math.ceil(times / 5)
  return { held: median(held.slice(warm)), took: median(took.slice(warm)) }
}

async function read(stdout) {
  let bytes = 0
  for await (const chunk of stdout) bytes += chunk.length
  return bytes
}

/** @type {{ name: string, what: string, unit: string, target: string, subjects: string[], run: (subject: object) => Promise<number> }[]} */
export const rows = [
  {
    name: 'hold', what: 'spawn() holds the main thread', unit: 'ms', target: '≤ 0.3× node', subjects: ALL,
    run: async subject => (await short(() => subject.collected(TRUE, WINDOW), 150)).held,
  },
  {
    name: 'done', what: '`done` of true, one after another', unit: 'ms', target: '', subjects: ALL,
    run: async subject => (await short(() => subject.collected(TRUE, WINDOW), 150)).took,
  },
  {
    name: 'heap', what: 'the same with 4 GiB in use', unit: 'ms', target: '≤ 0.3× node', subjects: ALL,
    run: async subject => {
      const heap = Array.from({ length: 4 }, () => Buffer.alloc(2 ** 30, 1))
      const { held } = await short(() => subject.collected(TRUE, WINDOW), 40)
      return heap.length === 4 ? held : 0
    },
  },
  {
    name: 'parallel', what: '300 commands at once', unit: 'ms', target: '≤ 0.7× node', subjects: ALL,
    run: async subject => {
      await subject.collected(TRUE, WINDOW).done
      const start = performance.now()
      await Promise.all(Array.from({ length: 300 }, () => subject.collected(TRUE, WINDOW).done))
      return performance.now() - start
    },
  },
  {
    name: 'pipe', what: 'raw pipe', unit: 'MiB/s', target: '≥ 1.5× ts', subjects: ALL,
    run: async subject => {
      const total = 2 ** 31
      const start = performance.now()
      const { stdout, done } = subject.piped(zeros(total))
      if (await read(stdout) !== total) throw new Error('bytes are missing')
      await done
      return total / MIB / ((performance.now() - start) / 1000)
    },
  },
  {
    name: 'collected', what: 'collected output', unit: 'MiB/s', target: '≥ 1.5× ts', subjects: ALL,
    run: async subject => {
      const total = 2 ** 31
      const start = performance.now()
      await subject.collected(zeros(total), WINDOW).done
      return total / MIB / ((performance.now() - start) / 1000)
    },
  },
  {
    name: 'memory', what: 'memory over idle, 4 GiB collected', unit: 'MiB', target: '≤ 16', subjects: ALL,
    run: async subject => {
      await subject.collected(TRUE, WINDOW).done
      const idle = process.memoryUsage.rss()
      let most = idle
      const watch = setInterval(() => { most = Math.max(most, process.memoryUsage.rss()) }, 5)
      await subject.collected(zeros(2 ** 32), WINDOW).done
      clearInterval(watch)
      return (Math.max(most, process.memoryUsage.rss()) - idle) / MIB
    },
  },
  {
    name: 'terminal', what: 'a terminal, from the call to its first byte', unit: 'ms', target: '', subjects: ['ts', 'native'],
    run: async subject => {
      const took = []
      for (let time = 0; time < 30; time++) {
        const start = performance.now()
        const terminal = await subject.terminal(['echo', 'x'])
        await new Promise(resolve => terminal.output.once('data', resolve))
        took.push(performance.now() - start)
        await terminal.done
      }
      return median(took)
    },
  },
  {
    name: 'echo', what: 'a key and its echo', unit: 'ms', target: '≤ 1× ts', subjects: ['ts', 'native'],
    run: async subject => {
      const terminal = await subject.terminal(['cat'])
      const took = []
      for (let time = 0; time < 500; time++) {
        const shown = new Promise(resolve => terminal.output.once('data', resolve))
        const start = performance.now()
        await terminal.write('x')
        await shown
        took.push(performance.now() - start)
      }
      return median(took)
    },
  },
]
