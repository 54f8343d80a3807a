/**
 * Memory of the supervisor inside the sandbox, as the sandbox itself sees it.
 * @module bench/rows/supervisor
 */

/** Sums resident memory of the resident processes of the supervisor: those whose binary is it, `join` left out. */
const SUM = `
total=0
for dir in /proc/[0-9]*; do
  read -r name < "$dir/comm" 2>/dev/null || continue
  case $name in *supervisor*) ;; *) continue ;; esac
  while read -r key value _; do
    case $key in RssAnon:) total=$((total + value)) ;; esac
  done < "$dir/status" 2>/dev/null
done
echo "$total"
`

async function resident({ subprocess, cwd }) {
  const handle = subprocess.spawn({
    argv: ['sh', '-c', SUM], cwd, graceMs: 2000, env: {},
    stdio: { stdin: 'ignore', stdout: { maxBytes: 1024 }, stderr: { maxBytes: 1024 } },
  })
  await handle.done
  const kib = Number(handle.collected.stdout.readFrom(0).text)
  if (!(kib > 0)) throw new Error('no supervisor was found')
  return kib / 1024
}

function running(count, target) {
  return {
    name: `supervisor-${count}`,
    what: `supervisor: own memory ${count === 0 ? 'idle' : `with ${count} running commands`}`,
    unit: 'MiB', target, subjects: ['native'], fresh: true, timeoutMs: 120_000,
    prepare: ({ subject }) => subject.collect(['true']),
    async measure({ subject }) {
      const running = Array.from({ length: count }, () => subject.start(['sleep', '1000']))
      await Promise.all(running.map(({ started }) => started))
      const memory = await resident(subject.composition)
      for (const { stop } of running) stop()
      return memory
    },
  }
}

/** @type {import('./index.js').Row[]} */
export const supervisorRows = [running(0, '≤ 3'), running(1000, '≤ 64')]
