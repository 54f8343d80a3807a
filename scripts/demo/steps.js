/**
 * The work, in the order in which it is done. Each step returns what it saw; it throws when that is wrong.
 * @module demo/steps
 */
import { strict as assert } from 'node:assert'
import { PROGRAM } from './program.js'

const OUTPUT = 100 * 1024 * 1024
const AT_ONCE = 20

/**
 * @typedef {object} World
 * @property {import('../../__test__/support/composition.js').Composition} composition
 * @property {ReturnType<import('./sources.js').readSources>} sources
 */

/** @type {{ title: string, work: (world: World) => Promise<string> }[]} */
export const steps = [
  {
    title: 'the sandbox and the first command',
    async work({ composition }) {
      const result = await composition.run('echo "$(uname -sm), bash $BASH_VERSION, $(pwd)"')
      expectExit(result, { exitCode: 0 })
      assert.equal(result.stdout.text.trim().endsWith(composition.cwd), true, result.stdout.text)
      return result.stdout.text.trim()
    },
  },
  {
    title: 'bring the sources in',
    async work({ composition, sources }) {
      expectExit(await composition.run('mkdir -p source && base64 -d | tar -xzf - -C source', { stdin: sources.archive }), { exitCode: 0 })
      const { fs } = composition.ctx
      await fs.writeText(await fs.resolve('tool/count.c'), PROGRAM)
      return `${sources.names.length} files, ${mib(sources.bytes)} by stdin; one by ctx.fs`
    },
  },
  {
    title: 'hash them there, compare with here',
    async work({ composition, sources }) {
      const result = await composition.run(
        'cd source && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum',
        { stdoutMaxBytes: 4 * sources.sums.length },
      )
      expectExit(result, { exitCode: 0 })
      assert.equal(result.stdout.text, sources.sums, 'the sums differ')
      return `${sources.names.length} equal sums`
    },
  },
  {
    title: 'build a program and run it on them',
    async work({ composition, sources }) {
      const tool = (await composition.run('command -v cc gcc clang')).stdout.text.split('\n')[0]
      const program = tool === '' ? "awk 'END { print NR }'" : '../tool/count'
      if (tool !== '') expectExit(await composition.run(`cd tool && ${tool} -O2 -Wall -Werror -o count count.c`), { exitCode: 0 })
      const result = await composition.run(`cd source && find . -type f -print0 | xargs -0 cat | ${program}`)
      expectExit(result, { exitCode: 0 })
      assert.equal(Number(result.stdout.text), sources.lines)
      return `${sources.lines} lines, by ${tool === '' ? 'awk' : tool}`
    },
  },
  {
    title: 'a pipeline that fails with its own code',
    async work({ composition }) {
      const result = await composition.run('set -o pipefail; (echo partial; exit 7) | tr a-z A-Z')
      expectExit(result, { exitCode: 7 })
      assert.equal(result.stdout.text, 'PARTIAL\n')
      return exit(result)
    },
  },
  {
    title: 'a program killed by a signal, one that exits 139',
    async work({ composition }) {
      const killed = await composition.run('kill -SEGV $$')
      const exited = await composition.run('exit 139')
      expectExit(killed, { signal: 'SIGSEGV' })
      expectExit(exited, { exitCode: 139 })
      return `${exit(killed)}; ${exit(exited)}`
    },
  },
  {
    title: 'terminate a tree that ignores SIGTERM',
    async work({ composition }) {
      const background = composition.start('trap "" TERM; sleep 300 & echo started; wait')
      let seen = ''
      while (!seen.includes('started')) {
        seen += background.readOutput().delta
        await new Promise(next => setTimeout(next, 5))
      }
      background.kill()
      await background.done
      expectExit(background, { signal: 'SIGKILL' })
      return `${exit(background)} after its grace`
    },
  },
  {
    title: '100 MiB of output in a bounded tail',
    async work({ composition }) {
      const result = await composition.run(`head -c ${OUTPUT} /dev/zero | tr '\\0' x; echo END`)
      expectExit(result, { exitCode: 0 })
      assert.equal(result.stdout.truncated, true)
      assert.equal(result.stdout.text.endsWith('xxxxEND\n'), true)
      const { spillPath } = result.stdout
      if (spillPath !== undefined) {
        assert.equal(Number((await composition.run(`wc -c < '${spillPath}'`)).stdout.text), OUTPUT + 4)
      }
      return `tail of ${result.stdout.text.length} bytes, ${spillPath === undefined ? 'over the spill cap' : 'all of it in a spill file'}`
    },
  },
  {
    title: `${AT_ONCE} commands at once`,
    async work({ composition }) {
      const results = await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => composition.run(`sleep 0.2; echo ${i}; exit ${i}`)))
      for (const [i, result] of results.entries()) {
        expectExit(result, { exitCode: i })
        assert.equal(result.stdout.text, `${i}\n`)
      }
      return `each sleeps 200 ms; codes 0–${AT_ONCE - 1}`
    },
  },
]

function expectExit(result, { exitCode = null, signal = null }) {
  const [is, wanted] = [exit(result), exit({ exitCode, signal })]
  assert.equal(is, wanted, `${is} instead of ${wanted}: ${result.stderr?.text ?? ''}`)
}

function exit({ exitCode, signal }) {
  return signal === null ? `exit ${exitCode}` : `signal ${signal}`
}

function mib(bytes) {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
