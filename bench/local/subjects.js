/**
 * Who is measured: each gives `collected(argv, window)` and `piped(argv)` with `done` and, piped, `stdout`.
 * @module bench/local/subjects
 */

const GRACE_MS = 5000

/** By name; each loads what it needs. */
export const subjects = {
  node: async () => {
    const { spawn } = await import('node:child_process')
    const start = argv => {
      const child = spawn(argv[0], argv.slice(1), { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
      return { child, stdout: child.stdout, done: new Promise(resolve => child.once('close', resolve)) }
    }
    return {
      piped: start,
      // What a careful caller does by hand: the last bytes only.
      collected: (argv, window) => {
        const started = start(argv)
        let tail = Buffer.alloc(0)
        started.stdout.on('data', chunk => { tail = chunk.length >= window ? chunk.subarray(-window) : Buffer.concat([tail, chunk]).subarray(-window) })
        return started
      },
    }
  },
  ts: () => provider('@deepseek-ai/dsh-subprocess-local'),
  native: () => provider('dsh-subprocess-native/local'),
}

async function provider(name) {
  // What the original expects of a newer Node.
  await import('../../examples/node20.js')
  const { Context } = await import('@deepseek-ai/cordis')
  const { default: Provider } = await import(name)
  const ctx = new Context()
  await ctx.plugin(Provider)
  const spawn = (argv, stdout, stderr) => ctx.subprocess.spawn({
    argv, cwd: process.cwd(), stdio: { stdin: 'ignore', stdout, stderr }, graceMs: GRACE_MS,
  })
  return {
    piped: argv => spawn(argv, 'pipe', 'pipe'),
    collected: (argv, maxBytes) => spawn(argv, { maxBytes }, { maxBytes }),
    terminal: argv => ctx.subprocess.spawnTerminal({ argv, cwd: process.cwd(), rows: 24, cols: 80, graceMs: GRACE_MS }),
  }
}
