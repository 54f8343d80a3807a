/**
 * What a thousand running commands cost, and whether the next one feels them.
 * @module bench/rows/many
 */
import { readdirSync } from 'node:fs'
import { median } from '../statistics.js'

const COUNT = 1_000
const PROBES = 21

async function short(subject) {
  const taken = []
  for (let i = 0; i < PROBES; i++) {
    const start = performance.now()
    await subject.collect(['true'])
    taken.push(performance.now() - start)
  }
  return median(taken)
}

/** Measures `look` before and while a thousand commands run. */
function beside(name, what, unit, target, look) {
  return {
    name, what, unit, target, subjects: ['native'], line: {}, fresh: true, timeoutMs: 180_000,
    prepare: ({ subject }) => subject.collect(['true']),
    async measure(context) {
      const before = await look(context)
      const running = Array.from({ length: COUNT }, () => context.subject.start(['sleep', '1000']))
      await Promise.all(running.map(({ started }) => started))
      const during = await look(context)
      for (const { stop } of running) stop()
      return [before, during]
    },
  }
}

const row = (definition, value) => ({ ...definition, measure: async context => value(...await definition.measure(context)) })

/** @type {import('./index.js').Row[]} */
export const manyRows = [
  row(beside('short-beside-1000', `a short command beside ${COUNT} running ones, against alone`, '×', '≤ 1.2', ({ subject }) => short(subject)), (alone, during) => during / alone),
  row(beside('memory-1000', `host memory for each of ${COUNT} running commands`, 'KiB', '≤ 64', () => {
    globalThis.gc?.()
    return process.memoryUsage.rss()
  }), (before, during) => (during - before) / COUNT / 1024),
  row(beside('descriptors-1000', `host descriptors for ${COUNT} running commands`, '', '0', () => readdirSync('/proc/self/fd').length), (before, during) => during - before),
]
