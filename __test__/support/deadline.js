/**
 * Waiting with a deadline: tests wait for an event or a condition, never for a guessed time.
 * @module test/support/deadline
 */

/**
 * Waits for a promise, at most `ms` milliseconds.
 * @template T
 * @param {PromiseLike<T>} promise
 * @param {number} ms the deadline
 * @param {string} what named in the error
 * @returns {Promise<T>} what the promise gives; rejects with `WHAT: not within MS ms` when it is late
 */
export async function within(promise, ms, what) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Asks until the answer is truthy, at most `ms` milliseconds, every `everyMs`.
 * @template T
 * @param {() => T | Promise<T>} probe
 * @param {number} ms the deadline
 * @param {string} what named in the error
 * @param {number} [everyMs]
 * @returns {Promise<T>} the first truthy answer; rejects with the last answer in its message
 */
export async function until(probe, ms, what, everyMs = 10) {
  const end = performance.now() + ms
  for (;;) {
    const answer = await probe()
    if (answer) return answer
    if (performance.now() >= end) throw new Error(`${what}: not within ${ms} ms (last answer: ${String(answer)})`)
    await new Promise(go => setTimeout(go, everyMs))
  }
}
