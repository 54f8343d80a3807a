/**
 * Terminals: from the call to the first byte, and from a key to its echo.
 * @module bench/rows/terminal
 */
import { median } from '../statistics.js'

const SEAM = ['ts', 'native']
const GRACE_MS = 2_000

function open({ composition }) {
  return composition.subprocess.spawnTerminal({ argv: ['sh', '-c', 'printf ready; exec cat'], cwd: composition.cwd, rows: 24, cols: 80, graceMs: GRACE_MS, env: {} })
}

/** Waits until the output holds `text`; returns the time. */
function reads(terminal, text) {
  let seen = ''
  return new Promise((resolve, reject) => {
    const look = bytes => {
      seen += bytes
      if (!seen.includes(text)) return
      terminal.output.off('data', look)
      resolve(performance.now())
    }
    terminal.output.on('data', look)
    terminal.done.then(outcome => reject(new Error(`the terminal ended: ${JSON.stringify(outcome)}`)), reject)
  })
}

const warm = ({ subject }) => subject.collect(['true'])

/** @type {import('./index.js').Row[]} */
export const terminalRows = [
  {
    name: 'terminal-ready',
    what: 'terminal: first byte of the program, loopback',
    unit: 'ms', target: '≤ 3', subjects: SEAM, timeoutMs: 60_000, prepare: warm,
    async measure({ subject }) {
      const start = performance.now()
      const terminal = await open(subject)
      const ready = await reads(terminal, 'ready')
      await terminal.terminate()
      return ready - start
    },
  },
  {
    name: 'terminal-echo',
    what: 'terminal: echo of a key, loopback',
    unit: 'ms', target: '≤ 0.5', subjects: SEAM, timeoutMs: 60_000, prepare: warm,
    async measure({ subject }) {
      const terminal = await open(subject)
      await reads(terminal, 'ready')
      const taken = []
      for (let i = 0; i < 20; i++) {
        const echo = reads(terminal, 'k')
        const start = performance.now()
        await terminal.write('k')
        taken.push(await echo - start)
      }
      await terminal.terminate()
      return median(taken)
    },
  },
]
