/** Who is in front, and whether it waits for input: programs in known states, each asked until it is there. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NOT_WAITING, WAITING } from './fixtures/waiting.js'
import { PATIENCE_MS, PROVIDER, matrix, open, openShell, useWorld } from './world.js'

/** `DSH_TEST_REPEAT=50` asks for each state so often. */
const REPEAT = Number(process.env.DSH_TEST_REPEAT ?? 1)
/** So many answers in a row must agree. */
const ANSWERS = 8

let missing = new Set()
const world = useWorld({
  async prepare(prepared) {
    const names = [...WAITING, ...NOT_WAITING].flatMap(({ needs = [] }) => needs)
    const found = await prepared.sh(`for name in ${[...new Set(names)].join(' ')}; do command -v $name >/dev/null || echo $name; done`)
    missing = new Set(found.stdout.split('\n').filter(name => name !== ''))
  },
})

describe('inputWaiting', { concurrency: 3, skip: PROVIDER !== 'native' && 'the original never knows' }, () => {
  for (const one of WAITING) test(`C52 ${one.name} waits for input`, { timeout: PATIENCE_MS * 2 * REPEAT }, t => repeat(t, one, true))
  for (const one of NOT_WAITING) test(`C52 ${one.name} does not wait for input`, { timeout: PATIENCE_MS * 2 * REPEAT }, t => repeat(t, one, false))
})

async function repeat(t, one, expected) {
  if (missing.has(one.needs)) return t.skip(`no ${one.needs} in the sandbox`)
  if (one.x64 && process.arch !== 'x64') return t.skip('by a number of another system call')
  for (let round = 0; round < REPEAT; round++) await check(t, one, expected)
}

/** Waits until a program is in its state, then asks again and again. */
async function check(t, { argv, up, env, other = false, types, unread = false, foreign = false }, expected) {
  const screen = await open(world, argv, { env })
  if (types !== undefined) await screen.type(types)
  if (up !== undefined) await screen.shows(up)
  if (foreign && (await world.witness(`ps -o euid= -p ${screen.pid}; id -u`)).trim().split(/\s+/).every((id, _, ids) => id === ids[0])) {
    await screen.close()
    return t.skip(`${argv[0]} becomes nobody else in this sandbox`)
  }
  if (unread) screen.terminal.output.pause()
  const isThere = front => front.inputWaiting === expected && (front.processGroupId !== screen.pid) === other
  await screen.frontIs(isThere, `inputWaiting ${expected} of ${argv.join(' ')}`)
  // What it does right after it said that it is up is not its state yet.
  if (!expected) await world.run(['true'])
  for (let count = 0; count < ANSWERS; count++) {
    const front = await screen.front()
    assert.ok(isThere(front), `answer ${count}: ${JSON.stringify(front)}`)
  }
  screen.terminal.output.resume()
  await screen.close()
}

matrix('C52 a job that is stopped waits for nothing, its shell does; brought back it waits', { skip: PROVIDER !== 'native' && 'the original never knows' }, async () => {
  const screen = await openShell(world)
  await screen.type('cat\r')
  const job = await screen.waits(group => group !== screen.pid)
  await screen.type('\x1a')
  await screen.waits(group => group === screen.pid)
  await screen.type('fg\r')
  await screen.waits(group => group === job.processGroupId)
  await screen.close()
})

matrix('C52 a group in front that is stopped does not wait for input until it goes on', { skip: PROVIDER !== 'native' && 'the original never knows' }, async () => {
  for (const argv of [['cat'], ['python3', '-c', 'import select; p=select.poll(); p.register(0,1); p.poll(600000)']]) {
    const screen = await open(world, argv)
    await screen.waits()
    await world.run(['kill', '-STOP', String(screen.pid)])
    await screen.frontIs(front => !front.inputWaiting, 'a stopped reader')
    await world.run(['kill', '-CONT', String(screen.pid)])
    await screen.waits()
    await screen.close()
  }
})

matrix('C52 where nobody is in front the answer is undefined', { skip: PROVIDER !== 'native' && 'the original has another answer' }, async () => {
  const screen = await open(world, ['true'])
  await screen.done()
  assert.equal(await screen.front(), undefined)
})

matrix('C52 what a program wrote before it waits has come when it is seen waiting', { skip: PROVIDER !== 'native' && 'the original never knows' }, async () => {
  // Each reader is a job of its own: a new group that waits has written its line, whatever was seen before.
  const screen = await open(world, ['bash', '--norc', '--noprofile', '-c', 'set -m; for ((n = 0; ; n++)); do sh -c "stty -echo; echo job $n; read line"; done'])
  let last
  let late = 0
  for (let round = 0; round < 200; round++) {
    let front
    do front = await screen.front()
    while (front?.inputWaiting !== true || front.processGroupId === last)
    if (!screen.text.includes(`job ${round}\r\n`)) late++
    last = front.processGroupId
    await screen.type('\n')
  }
  await screen.close()
  assert.equal(late, 0)
})

// https://github.com/xiaobright/dsh-anchored-standard/issues/75
matrix('C52 an unfinished heredoc shows its prompt, bash is seen waiting, and the interrupt key ends it (trap B7)', async () => {
  const screen = await openShell(world, { env: { PS2: 'more> ' } })
  await screen.type("cat <<'EOF'\nhi\n  EOF\n")
  await screen.shows(/more> hi\r\nmore> {3}EOF\r\nmore> $/)
  const { processGroupId } = await screen.waits()
  assert.equal(processGroupId, screen.pid)
  const from = screen.text.length
  await screen.type('\x03')
  await screen.shows('ready> ', from)
  await screen.ask('echo a$((40+2))', '\r\na42\r\n')
  await screen.close()
})
