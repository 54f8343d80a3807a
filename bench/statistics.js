/**
 * @module bench/statistics
 */

/**
 * @param {number[]} values at least one
 * @returns {number} the middle one, or the mean of the two in the middle
 */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
