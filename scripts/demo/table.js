/**
 * Plain-text tables.
 * @module demo/table
 */

/**
 * @param {string[]} head
 * @param {string[][]} rows
 * @returns {string} columns as wide as their widest cell; columns whose cells are all numbers are right-aligned
 */
export function table(head, rows) {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map(row => row[i].length)))
  const numeric = head.map((_, i) => rows.every(row => /^[\d.,<>×%+-]*( ?(ms|s|MiB|MiB\/s))?$/.test(row[i])))
  const line = cells => cells.map((cell, i) => (numeric[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('  ').trimEnd()
  return [line(head), widths.map(width => '─'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}
