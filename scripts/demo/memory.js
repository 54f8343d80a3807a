/**
 * The harness process' own memory while something runs.
 * @module demo/memory
 */

const EVERY_MS = 5
const MIB = 1024 * 1024

/**
 * Samples resident memory while `work` runs.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<{ value: T, growthMiB: number }>} what it gave, and the peak over the start
 */
export async function watchMemory(work) {
  const start = process.memoryUsage.rss()
  let peak = start
  const sampler = setInterval(() => { peak = Math.max(peak, process.memoryUsage.rss()) }, EVERY_MS)
  try {
    const value = await work()
    peak = Math.max(peak, process.memoryUsage.rss())
    return { value, growthMiB: (peak - start) / MIB }
  } finally {
    clearInterval(sampler)
  }
}
