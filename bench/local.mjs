#!/usr/bin/env node
/**
 * Programs on this very machine: Node's own `child_process`, the original local provider and ours, side by side in one run.
 *
 *   node bench/local.mjs [--only REGEX] [--rounds N]          or: npm run bench -- local
 *
 * Each sample is a process of its own, rounds are interleaved, figures are medians. On a busy machine compare the ratios.
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { table } from '../scripts/demo/table.js'
import { rows } from './local/rows.js'
import { subjects } from './local/subjects.js'
import { median } from './statistics.js'

if (process.send !== undefined) await sample(process.argv[2], process.argv[3])
else await compare()

async function sample(rowName, subjectName) {
  const row = rows.find(({ name }) => name === rowName)
  process.send(await row.run(await subjects[subjectName]()))
  process.exit()
}

async function compare() {
  const { values } = parseArgs({
    options: { only: { type: 'string', default: '.' }, rounds: { type: 'string', default: '5' } },
    allowPositionals: true,
  })
  const lines = []
  for (const row of rows.filter(({ name }) => new RegExp(values.only).test(name))) {
    const samples = Object.fromEntries(row.subjects.map(name => [name, []]))
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const name of row.subjects) samples[name].push(await inChild(row.name, name))
    }
    const middle = name => (samples[name] === undefined ? undefined : median(samples[name]))
    const ours = middle('native')
    const shown = value => (value === undefined ? '–' : value.toPrecision(3))
    const against = value => (value === undefined ? '–' : `${(ours / value).toPrecision(2)}×`)
    lines.push([row.what, row.unit, shown(middle('node')), shown(middle('ts')), shown(ours), against(middle('node')), against(middle('ts')), row.target])
  }
  console.log(table(['what', 'unit', 'node', 'ts', 'native', '÷ node', '÷ ts', 'target'], lines))
}

function inChild(row, subject) {
  return new Promise((resolve, reject) => {
    const child = fork(fileURLToPath(import.meta.url), [row, subject])
    child.once('message', resolve)
    child.once('exit', code => reject(new Error(`${row} of ${subject} ended with ${code}`)))
  })
}
