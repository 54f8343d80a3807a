/**
 * The table and the file of a run.
 * @module bench/report
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from '../scripts/demo/table.js'
import { median } from './statistics.js'

/**
 * @typedef {object} Result
 * @property {import('./rows/index.js').Row} row
 * @property {Record<string, { values: number[], errors: string[] }>} subjects
 */

/**
 * @param {Result[]} results
 * @returns {string} one line a row: medians, and ours against the others
 */
export function render(results) {
  const lines = results.map(({ row, subjects }) => {
    const middle = Object.fromEntries(Object.entries(subjects).map(([name, { values }]) => [name, values.length > 0 ? median(values) : undefined]))
    const cell = name => (subjects[name] === undefined ? '–' : middle[name] === undefined ? 'fails' : number(middle[name]))
    return [row.what, row.unit, cell('bare'), cell('ts'), cell('native'), ratio(middle.native, middle.bare), ratio(middle.native, middle.ts), row.target]
  })
  const failures = results.flatMap(({ row, subjects }) => Object.entries(subjects).flatMap(([name, { errors }]) => [...new Set(errors)].map(error => `${row.name}, ${name}: ${error}`)))
  return [table(['what', 'unit', 'bare', 'ts', 'native', '÷ bare', '÷ ts', 'target'], lines), ...failures].join('\n')
}

/**
 * Writes the run as JSON, every sample included.
 * @param {Result[]} results
 * @param {object} run how it was run
 * @returns {string} the path
 */
export function save(results, run) {
  const folder = fileURLToPath(new URL('results', import.meta.url))
  mkdirSync(folder, { recursive: true })
  const at = new Date().toISOString()
  const file = join(folder, `${at.replaceAll(':', '-')}.json`)
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, memoryGiB: Math.round(totalmem() / 2 ** 30), node: process.version }
  const rows = results.map(({ row: { name, what, unit, target }, subjects }) => ({ name, what, unit, target, subjects }))
  writeFileSync(file, `${JSON.stringify({ at, machine, run, rows }, undefined, 2)}\n`)
  return file
}

function number(value) {
  if (value === 0) return '0'
  if (Math.abs(value) >= 100) return value.toFixed(0)
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

function ratio(ours, theirs) {
  return ours === undefined || theirs === undefined || theirs === 0 ? '–' : `${number(ours / theirs)}×`
}
