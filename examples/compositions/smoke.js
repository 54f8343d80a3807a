/**
 * The harness' own smoke test: a process of its own that loads the composition, does a turn and must end by itself, quietly.
 * @module examples/compositions/smoke
 */
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { runLoaderSmoke } from '@deepseek-ai/dsh-loader-smoke'
import { STEP_MS } from './world.js'

const bin = fileURLToPath(new URL('smoke-bin.js', import.meta.url))

export const smoke = {
  name: 'smoke',
  title: "the harness' loader smoke test (`dsh-loader-smoke`), in a process of its own",
  file: 'shell.cordis.yml',
  loads: false,
  steps: {
    async 'the agent does its turn, nothing is printed, and the process ends by itself'(world) {
      const call = command => ({ name: 'bash', arguments: { command, description: 'Do as told' } })
      const task = JSON.stringify({ calls: [call('echo made > smoke.txt && pwd'), call('cat smoke.txt; id -un')] })
      const { stdout, stderr } = await runLoaderSmoke({
        label: 'the composition',
        tempDirPrefix: 'composition-smoke-',
        mode: 'lib',
        binScript: bin,
        libBinScript: bin,
        configPath: world.file,
        binArgs: [world.file, world.base, task],
        processTimeoutMs: STEP_MS,
        inspect: async cwd => assert.deepEqual(await readdir(cwd), [], 'nothing of the sandbox is on the host'),
      })
      assert.equal(stderr, '')
      const { type, output, readyMs, firstMs } = JSON.parse(stdout)
      assert.equal(type, 'result')
      assert.equal(output, `${world.cwd}\n\n---\nmade\nuser\n`)
      return { readyMs, firstMs }
    },
  },
}
