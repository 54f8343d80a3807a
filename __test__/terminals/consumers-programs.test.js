/** Full-screen programs, pastes and terminals within terminals under the original terminal consumers. */
import assert from 'node:assert/strict'
import { useConsumers } from './consumers.js'
import { matrix } from './world.js'

// A key in a full-screen program is answered sooner than anybody looks: there silence decides, as in a usual configuration.
const harness = useConsumers({ idleSilenceMs: 300 })

/** A behaviour of a program that not every sandbox has. */
function withProgram(name, title, body) {
  matrix(title, async t => {
    const shell = await harness.open()
    const found = await shell.send(`command -v ${name} >/dev/null; echo found:$?`)
    await (found.viewport.includes('found:0\n') ? body(shell) : t.skip(`no ${name} in the sandbox`))
    await shell.close()
  })
}

const key = (shell, text) => shell.send(text, { submit: false })

/** The shell is at its prompt again: it answers. */
async function expectShell(shell) {
  assert.match((await shell.send('echo back:$((40+2))')).viewport, /\nback:42\n/)
}

withProgram('less', 'C52 the original backend pages through less, and is at its prompt again behind it', async shell => {
  await shell.send('seq 1 200 >lines.txt')
  const page = await shell.send('TERM=xterm LESS= LESSHISTFILE=- less lines.txt')
  assert.equal(page.waitReason, 'stdin_read')
  assert.match(page.viewport, /\n39\n/)
  await key(shell, ' ')
  await shell.shows(/\n78\n/)
  await key(shell, 'q')
  await expectShell(shell)
})

withProgram('vim', 'C52 the original backend edits a file with vim', async shell => {
  const opened = await shell.send('TERM=xterm vim -u NONE -N -n edited.txt')
  assert.equal(opened.waitReason, 'stdin_read')
  await key(shell, 'ifirst line\rsecond ünïcode\x1b')
  await shell.send(':wq')
  assert.match((await shell.send('cat edited.txt; echo end')).viewport, /\nfirst line\nsecond ünïcode\nend\n/)
})

withProgram('top', 'C52 the original backend leaves a top that draws all the time', async shell => {
  const opened = await shell.send('TERM=xterm top -d 0.2')
  assert.equal(opened.waitReason, 'stdin_read')
  await shell.shows(/PID[^]*PID|top -[^]*top -/)
  await key(shell, 'q')
  await expectShell(shell)
})

matrix('C51 the original backend pastes lines in brackets, and none runs before the key', async () => {
  const shell = await harness.open()
  await shell.send('TERM=xterm PS1="in> " bash --noprofile --norc -i')
  await key(shell, '\x1b[200~echo pasted-$((1+1))\necho pasted-$((2+2))\x1b[201~')
  await shell.shows(/\$\(\(2\+2\)\)/)
  assert.doesNotMatch(shell.read({ count: 200 }).text, /pasted-2/)
  await shell.send('')
  await shell.shows(/\npasted-2\n(in> ?)?pasted-4\n/)
  await shell.close()
})

withProgram('script', 'C52 the original backend works in a terminal within the terminal, and leaves it', async shell => {
  const inner = await shell.send('PS1="in> " script -qc "bash --noprofile --norc -i" /dev/null')
  assert.equal(inner.waitReason, 'stdin_read')
  await shell.send('tty; echo within:$((40+2))')
  await shell.shows(/\/dev\/pts\/\d+\n[^]*within:42\n/)
  await shell.send('exit')
  await expectShell(shell)
})

matrix('C54 what leaves the session by setsid lets the original backend go on, and outlives its terminal', async () => {
  const shell = await harness.open()
  const started = await shell.send('setsid sleep 600.56 & echo sent:$((40+2))')
  assert.match(started.viewport, /sent:42\n/)
  await shell.close()
  const other = await harness.open()
  assert.match((await other.send('echo left:$(pgrep -fc "^sleep 600.56")')).viewport, /left:1\n/)
  await other.send('pkill -f "^sleep 600.56"')
  await other.close()
})

matrix('C50 the original backend has the size that it was configured with', async () => {
  const shell = await harness.open()
  assert.match((await shell.send('stty size')).viewport, /\n40 160\n/)
  await shell.close()
})
