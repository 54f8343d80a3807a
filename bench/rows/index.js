/**
 * Every row of the table, in its order.
 * @module bench/rows
 *
 * @typedef {object} Row
 * @property {string} name short, for `--only`
 * @property {string} what in the table
 * @property {string} unit
 * @property {string} target in words, for ours
 * @property {string[]} subjects
 * @property {import('../../__test__/support/line.js').LineOptions} [line] a line of its own for each subject
 * @property {boolean} [fresh] a new process and sandbox for every round
 * @property {number} timeoutMs of one round
 * @property {(context: Context) => Promise<any>} [prepare] once for each process; its value is `state`
 * @property {(context: Context) => Promise<number>} measure one round
 *
 * @typedef {object} Context
 * @property {import('../subject.js').Subject} subject
 * @property {string} name of the subject
 * @property {boolean} quick
 * @property {() => Promise<number>} requests so far on the subject's line
 * @property {any} [state]
 */
import { bulkRows } from './bulk.js'
import { fairnessRows } from './fairness.js'
import { latencyRows } from './latency.js'
import { manyRows } from './many.js'
import { memoryRows } from './memory.js'
import { requestRows } from './requests.js'
import { resilienceRows } from './resilience.js'
import { supervisorRows } from './supervisor.js'
import { terminalRows } from './terminal.js'

/** @type {Row[]} */
export const rows = [
  ...requestRows, ...latencyRows, ...bulkRows, ...memoryRows, ...fairnessRows, ...manyRows, ...terminalRows, ...supervisorRows, ...resilienceRows,
]
