/** Full-screen programs, pastes and terminals within terminals: what people really run in one. */
import assert from 'node:assert/strict'
import { PROVIDER, matrix, open, openShell, useWorld } from './world.js'

const FULL_SCREEN = { TERM: 'xterm', LESS: '', VIMINIT: '', LESSHISTFILE: '-' }
let there = new Set()
const world = useWorld({
  async prepare(prepared) {
    const { stdout } = await prepared.sh('for name in less vim top script tmux python3; do command -v $name >/dev/null && echo $name; done; seq 1 500 >lines.txt')
    there = new Set(stdout.trim().split('\n'))
  },
})

/** A behaviour of a program that not every sandbox has. */
function withProgram(name, title, ...rest) {
  const [options, body] = rest.length === 1 ? [{}, rest[0]] : rest
  matrix(title, options, async t => (there.has(name) ? body(t) : t.skip(`no ${name} in the sandbox`)))
}

withProgram('less', 'C51 C57 less pages, follows a new size and leaves', async () => {
  const screen = await openShell(world, { env: FULL_SCREEN, rows: 20 })
  await screen.ask('less lines.txt', /\n19\r?\n/)
  await screen.waits(group => group !== screen.pid)
  let from = screen.text.length
  await screen.type(' ')
  await screen.shows(/\n38\r?\n/, from)
  from = screen.text.length
  screen.terminal.resize(30, 80)
  await screen.shows(/(^|\n|\r)48/, from)
  await screen.type('q')
  await screen.waits(group => group === screen.pid)
  await screen.ask('stty size', '30 80')
  await screen.close()
})

withProgram('vim', 'C51 vim edits a file as it is typed, and leaves', async () => {
  const screen = await openShell(world, { env: FULL_SCREEN })
  await screen.ask('vim -u NONE -N -n edited.txt', 'edited.txt')
  await screen.waits(group => group !== screen.pid)
  await screen.type('ifirst line\rsecond ünïcode\x1b')
  await screen.shows('second')
  await screen.type(':wq\r')
  await screen.waits(group => group === screen.pid)
  assert.equal((await world.run(['cat', 'edited.txt'])).stdout, 'first line\nsecond ünïcode\n')
  await screen.close()
})

withProgram('vim', 'C54 vim that is in the midst of an edit is ended', async () => {
  const screen = await open(world, ['vim', '-u', 'NONE', '-N', '-n', 'unsaved.txt'], { env: FULL_SCREEN })
  await screen.waits()
  await screen.type('ihalf')
  await screen.shows('half')
  await screen.close()
  assert.equal((await world.run(['pgrep', '-x', 'vim'])).exitCode, 1)
})

withProgram('top', 'C51 top draws again and again, and leaves by its key', async () => {
  const screen = await open(world, ['top', '-d', '0.2'], { env: FULL_SCREEN, rows: 30, cols: 100 })
  await screen.shows('Tasks')
  await screen.shows(/PID[^]*PID|top -[^]*top -/)
  await screen.type('q')
  assert.deepEqual(await screen.done(), { exitCode: 0, signal: null })
})

matrix('C51 a bracketed paste is taken as text, its lines run by the key alone', async () => {
  const screen = await openShell(world, { env: { TERM: 'xterm' } })
  assert.ok(screen.text.includes('\x1b[?2004h'), 'control: the shell asks for brackets')
  const from = screen.text.length
  await screen.type('\x1b[200~echo pasted-$((1+1))\necho pasted-$((2+2))\x1b[201~')
  await screen.shows('$((2+2))', from)
  await screen.waits()
  assert.ok(!screen.text.slice(from).includes('pasted-2'), 'nothing ran yet')
  await screen.type('\r')
  await screen.shows(/pasted-2\r\n(\x1b\[\?2004[hl]\r?)*pasted-4\r\n/, from)
  await screen.close()
})

withProgram('script', 'C52 C54 a terminal within the terminal is a relay that waits, and ends with it', async () => {
  const screen = await openShell(world)
  await screen.ask('script -qc "bash --norc -i" /dev/null', 'ready> ')
  const relay = await screen.waits(group => group !== screen.pid)
  const outer = (await screen.ask('tty', /\/dev\/pts\/\d+/))[0]
  await screen.type('sleep 600.56\r')
  // A relay always waits: only the program itself shows that the line was read and the interrupt will find it.
  await world.untilWitness('pgrep -fc "^sleep 600.56"', '1')
  assert.equal((await screen.waits()).processGroupId, relay.processGroupId, 'in front is the relay, whatever runs behind it')
  const from = screen.text.length
  await screen.type('\x03')
  await screen.shows('ready> ', from)
  await screen.ask('exit', 'ready> ')
  await screen.waits(group => group === screen.pid)
  assert.notEqual((await screen.ask('tty', /\/dev\/pts\/\d+/))[0], outer)
  await screen.close()
})

matrix('C54 C34 what leaves the session by setsid is not of the terminal, and goes with the service', async () => {
  const other = await world.another()
  const screen = await openShell(other)
  await screen.ask('setsid sleep 600.55 & echo sent$((1))', 'sent1')
  await other.untilWitness('pgrep -fc "^sleep 600.55"', '1')
  await screen.close()
  assert.equal((await other.witness('pgrep -fc "^sleep 600.55"')).trim(), '1')
  await other.endProvider()
  await other.untilWitness('pgrep -fc "^sleep 600.55" || true', '0')
  await other.composition.dispose()
})

withProgram('tmux', 'C51 C57 tmux opens, draws in the size of its terminal and can be left', async () => {
  const screen = await open(world, ['tmux', '-L', `own-${process.pid}`, '-f', '/dev/null', 'new-session', 'sh -c "stty size; exec sh -i"'], { env: { TERM: 'xterm', PS1: '$ ', LANG: 'C.UTF-8' }, rows: 24, cols: 80 })
  await screen.shows(/23 80[^]*\$ /)
  await screen.type('exit\r')
  assert.deepEqual(await screen.done(), { exitCode: 0, signal: null })
  assert.match((await screen.bytes()).toString(), /exited/)
})

withProgram('tmux', 'C52 tmux, whose server reads the terminal in another session, waits whatever runs in it', { skip: PROVIDER !== 'native' && 'the original never knows' }, async () => {
  const screen = await open(world, ['tmux', '-L', `relay-${process.pid}`, '-f', '/dev/null', 'new-session', 'exec sh -i'], { env: { TERM: 'xterm', PS1: '$ ', LANG: 'C.UTF-8' } })
  await screen.shows('$ ')
  assert.equal((await screen.waits()).processGroupId, screen.pid)
  const from = screen.text.length
  await screen.type('echo begun; sleep 600.44\r')
  await screen.shows(/begun\r?\n/, from)
  await world.untilWitness('pgrep -fc "^sleep 600.44"', '1')
  // While it draws, its status line for one, it does not wait.
  for (let count = 0; count < 8; count++) await screen.waits()
  await screen.type('\x03exit\r')
  await screen.done()
})

matrix('C51 a program that asks the terminal a question gets the answer that the harness types', async () => {
  const script = 'stty raw -echo; printf "\\033[6n"; IFS= read -r -d R answer; stty sane; echo "got:${answer#?}"'
  const screen = await open(world, ['bash', '-c', script])
  await screen.shows('\x1b[6n')
  await screen.type('\x1b[7;11R')
  await screen.shows('got:[7;11')
})
