#!/usr/bin/env node
/**
 * Tries every composition of `examples/compositions` under every pair of owner and provider, and writes docs/compositions.md.
 *
 *   node scripts/compositions.mjs [NAME ...]     only these compositions, the table goes to standard output
 *
 * Each is tried in a process of its own, which the original pair does not always survive. Exit code 1 when a step fails under
 * our provider.
 */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { PAIRS } from '../examples/compositions/pairs.js'
import { SCENARIOS } from '../examples/compositions/scenarios.js'

const RUN_MS = 600_000
const runner = fileURLToPath(new URL('../examples/compositions/run.js', import.meta.url))
const wanted = process.argv.slice(2)
const scenarios = SCENARIOS.filter(({ name }) => wanted.length === 0 || wanted.includes(name))

const tried = []
for (const scenario of scenarios) {
  const runs = {}
  for (const pair of PAIRS) {
    process.stderr.write(`compositions: ${scenario.name}, ${pair.name}\n`)
    runs[pair.name] = await run(scenario.name, pair.name)
  }
  tried.push({ scenario, runs })
}
const text = document(tried)
if (wanted.length > 0) process.stdout.write(text)
else writeFileSync(new URL('../docs/compositions.md', import.meta.url), text)
const broken = tried.some(({ runs }) => PAIRS.some(({ name, provider }) => provider === 'ours' && failures(runs[name]).length > 0))
process.exitCode = broken ? 1 : 0

/** One composition under one pair: its steps with times and failures, as far as its process came. */
async function run(scenario, pair) {
  const child = spawn(process.execPath, [runner, scenario, '--pair', pair, '--json'], { stdio: ['ignore', 'pipe', 'pipe'], timeout: RUN_MS, killSignal: 'SIGKILL' })
  const ended = new Promise(resolve => child.once('close', (code, signal) => resolve({ code, signal })))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', text => { said = (said + text).slice(-4096) })
  const steps = new Map()
  let times
  for await (const line of createInterface({ input: child.stdout })) {
    const told = JSON.parse(line)
    if (told.step === undefined) ({ times } = told)
    else steps.set(told.step, told)
  }
  const { code, signal } = await ended
  const died = code === null || code > 1 || times === undefined && !steps.has('it is disposed')
  return { steps, times, died: died ? `the harness' process died (${signal ?? `exit ${code}`}): ${firstError(said)}` : undefined }
}

function firstError(text) {
  return text.split('\n').find(line => /Error/.test(line)) ?? text.split('\n')[0]
}

function failures({ steps, died }) {
  return [...(died === undefined ? [] : [died]), ...[...steps.values()].filter(({ error }) => error !== undefined)]
}

function document(tried) {
  return [
    '# Whole compositions',
    '',
    'Made by `node scripts/compositions.mjs`; do not edit. Each composition of [examples/compositions](../examples/README.md) is loaded by the',
    'real Cordis loader under three pairs of owner and provider, which differ in the two rows\' `name:` lines and in nothing else, and every',
    'step of it is tried, each run in a process and on a server (`sandboxd`) of its own. `npm test` holds both pairs with our provider to all of it.',
    '',
    `Node ${process.versions.node}, ${process.platform}-${process.arch}; the original packages are \`dsh-e2b\` and \`dsh-subprocess-e2b\` 0.0.1-rc.1.`,
    '',
    'A sandbox of our owner is ready before the SDK has loaded what its first request needs, which the original owner waits for: the first step',
    'that uses files takes that time instead.',
    '',
    ...tried.flatMap(section),
    '## Times',
    '',
    'Milliseconds from the load to the ready sandbox, and to the outcome of a first command; one run each (`bench/owner.mjs` compares with medians).',
    '',
    '| Composition | original: ready, first command | original owner, our provider | ours |',
    '|---|---|---|---|',
    ...tried.map(({ scenario, runs }) => `| ${scenario.name} | ${PAIRS.map(({ name }) => timesOf(runs[name])).join(' | ')} |`),
    '',
  ].join('\n')
}

function section({ scenario, runs }) {
  const steps = PAIRS.flatMap(({ name }) => [...runs[name].steps.keys()])
  const ordered = new Set([...runs.ours.steps.keys(), ...steps])
  return [
    `## ${scenario.name}: ${scenario.title}`,
    '',
    '| Step | original owner and provider | original owner, our provider | our owner and provider |',
    '|---|---|---|---|',
    ...[...ordered].map(step => `| ${step} | ${PAIRS.map(({ name }) => cell(runs[name], step)).join(' | ')} |`),
    '',
  ]
}

function cell({ steps, died }, step) {
  const told = steps.get(step)
  if (told === undefined) return `**fails**: ${escaped(died ?? 'it did not load')}`
  return told.error === undefined ? `${told.ms} ms` : `**fails**: ${escaped(told.error)}`
}

function timesOf({ times }) {
  return times?.readyMs === undefined ? '–' : `${times.readyMs.toFixed(0)}, ${times.firstMs.toFixed(0)}`
}

/** Texts of errors as they are, but for names that are new in every run and what a table can't hold. */
function escaped(text) {
  return text.replaceAll(/\/tmp\/[\w./-]+|work-[0-9a-f]{8}/g, '…').replaceAll('|', '\\|').replaceAll(/[`<>*]/g, '')
}
