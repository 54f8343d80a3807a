/**
 * One row for every subject, rounds interleaved.
 * @module bench/measure
 */
import { Worker } from './worker.js'

/**
 * @param {import('./rows/index.js').Row} row
 * @param {import('../__test__/support/server.js').Server} server
 * @param {{ quick: boolean, rounds: number, subjects: string[] }} options
 * @returns {Promise<import('./report.js').Result>}
 */
export async function measureRow(row, server, { quick, rounds, subjects }) {
  const names = row.subjects.filter(name => subjects.includes(name))
  const result = { row, subjects: Object.fromEntries(names.map(name => [name, { values: [], errors: [] }])) }
  const workers = new Map()
  try {
    for (let round = 0; round < rounds; round++) {
      // Each round begins with another subject, so that none always runs after the same one.
      const order = names.map((_, i) => names[(i + round) % names.length])
      for (const name of order) await one(row, name, server, { quick }, workers, result.subjects[name])
    }
  } finally {
    for (const worker of workers.values()) await worker.close()
  }
  return result
}

/** One round of one subject; an error is a result too, and the next round gets a new process. */
async function one(row, name, server, options, workers, { values, errors }) {
  let worker = workers.get(name)
  try {
    worker ??= await Worker.open(row, name, server, options)
    workers.set(name, worker)
    const value = await worker.round(row.timeoutMs)
    values.push(value)
    console.log(`${row.name} ${name}: ${value.toFixed(2)} ${row.unit}`)
  } catch (error) {
    errors.push(error.message)
    console.log(`${row.name} ${name}: ${error.message}`)
    await drop(name, workers)
    return
  }
  if (row.fresh) await drop(name, workers)
}

async function drop(name, workers) {
  const worker = workers.get(name)
  workers.delete(name)
  await worker?.close()
}
