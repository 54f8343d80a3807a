#!/usr/bin/env node
/**
 * The program that the harness' smoke test runs: loads a composition, lets its agent do one task, ends by itself.
 *
 *   node smoke-bin.js FILE BASE TASK
 *
 * One line of JSON on standard output: the turn's result and the times. Nothing else is printed.
 */
import { runFixtureTurn } from '@deepseek-ai/dsh-loader-smoke'
import { boot, dispose } from '../boot.js'

const [file, base, task] = process.argv.slice(2)
const start = performance.now()
const ctx = await boot(file, [], { base })
let result
try {
  await ctx.e2b.getSandbox()
  const readyMs = performance.now() - start
  const first = ctx.subprocess.spawn({ argv: ['true'], cwd: ctx.e2b.cwd, graceMs: 1000, stdio: { stdin: 'ignore', stdout: { maxBytes: 1 }, stderr: { maxBytes: 1 } } })
  await first.done
  const firstMs = performance.now() - start
  result = { ...await runFixtureTurn(ctx, { task }), readyMs, firstMs }
} finally {
  await dispose(ctx)
}
process.stdout.write(`${JSON.stringify(result)}\n`)
