/** The original terminal consumers on our terminals: the registry with its bash backend, and the persistent bash tool. */
import assert from 'node:assert/strict'
import { useConsumers } from './consumers.js'
import { PATIENCE_MS, matrix, within } from './world.js'

const harness = useConsumers()

matrix('C52 the original backend sees its prompt at once and by proof, not by silence', async () => {
  const shell = await harness.open()
  assert.equal(shell.opened.motd, 'dsh> ')
  assert.ok(shell.opened.pid > 0)
  const result = await shell.send('echo hello')
  assert.equal(result.waitReason, 'stdin_read')
  assert.match(result.viewport, /hello\n(.*\n)?dsh> $/)
  await shell.close()
})

matrix('C52 the original backend sees each program that asks for input', async () => {
  const shell = await harness.open()
  for (const [command, prompt, answer, reply] of [
    ['bash -c \'read -p "name? " name; echo "[$name]"\'', 'name? ', 'ann', '\n[ann]\n'],
    ['python3 -c "print(input(\'more? \') * 2)"', 'more? ', 'ab', '\nabab\n'],
    ['sh -c \'echo "first? "; read a; sleep .3; echo "second? "; read b\'', 'first? \n', 'x', '\nsecond? \n'],
  ]) {
    const asked = await shell.send(command)
    assert.equal(asked.waitReason, 'stdin_read', command)
    assert.ok(asked.viewport.endsWith(prompt), asked.viewport)
    const answered = await shell.send(answer)
    assert.equal(answered.waitReason, 'stdin_read')
    // By the scrollback: what is known of the program may come before the last of its words.
    await shell.shows(new RegExp(reply.replace(/[[?\]]/g, '\\$&')))
  }
  await shell.send('y')
  assert.match((await shell.send('echo code:$?')).viewport, /code:0\n/)
  await shell.close()
})

matrix('C51 a password that is typed is not shown', async () => {
  const shell = await harness.open()
  for (const command of ['bash -c \'read -s -p "Password: " word; echo; echo ${#word}\'', 'python3 -c "import getpass; print(len(getpass.getpass()))"']) {
    const asked = await shell.send(command)
    assert.equal(asked.waitReason, 'stdin_read')
    assert.ok(asked.viewport.endsWith('Password: '), asked.viewport)
    assert.match((await shell.send('open-sesame')).viewport, /\n11\n/)
  }
  assert.doesNotMatch(shell.read({ count: 200 }).text, /open-sesame/)
  await shell.close()
})

matrix('C53 a running command is interrupted by its cancellation and by a signal', async () => {
  const shell = await harness.open()
  const controller = new AbortController()
  const sending = shell.start('sh -c "echo begun; exec sleep 600"', { signal: controller.signal })
  await shell.shows(/\nbegun\n/)
  controller.abort()
  assert.equal((await within(sending.done, PATIENCE_MS, 'the interrupted command')).waitReason, 'stdin_read')
  await shell.send('')
  const second = shell.start('sh -c "echo again; exec sleep 600"')
  await shell.shows(/\nagain\n/)
  const { delivered, targetPgid } = await shell.signal('SIGTERM')
  assert.ok(delivered && targetPgid !== shell.opened.pid)
  assert.equal((await within(second.done, PATIENCE_MS, 'the signalled command')).waitReason, 'stdin_read')
  assert.match((await shell.send('echo code:$?')).viewport, /code:143/)
  await shell.close()
})

matrix('C51 a hundred thousand lines pass, and the scrollback holds the last', async () => {
  const shell = await harness.open()
  const result = await shell.send('seq 1 100000')
  assert.equal(result.waitReason, 'stdin_read')
  const page = shell.read({ offset: 0, count: 101 })
  assert.equal(page.text, `${Array.from({ length: 100 }, (_, at) => `${99_901 + at}\n`).join('')}dsh> `)
  assert.equal(page.totalLines, 20_000)
  assert.ok(page.truncated)
  await shell.close()
})

matrix('C54 the original registry closes terminals with all that runs in them', async () => {
  const other = harness.register('another-agent')
  const opened = await harness.ctx.terminals.spawn(other, { type: 'shell' })
  harness.ctx.terminals.startSend(other, opened.sessionId, { text: 'trap "" TERM HUP; sleep 600.77 & sleep 600.77', submit: true }).done.catch(() => {})
  const shell = await harness.open()
  await shell.send('until [ $(pgrep -fc "^sleep 600.77") = 2 ]; do sleep .05; done')
  assert.equal(await harness.ctx.terminals.kill(other, opened.sessionId), true)
  assert.match((await shell.send('echo left:$(pgrep -fc "^sleep 600.77")')).viewport, /left:0/)
  await shell.close()
  assert.deepEqual(harness.ctx.terminals.list(other), [])
})

matrix('C52 the original bash tool keeps its directory and environment, and gives exact output', async () => {
  assert.equal(await harness.bash('export KEEP=loader; mkdir -p nested; cd nested'), '')
  assert.equal(await harness.bash('printf "cwd=%s keep=%s\\n" "$PWD" "$KEEP"'), `cwd=${harness.cwd}/nested keep=loader`)
  assert.equal(await harness.bash('value="line one"\nprintf "%s:%s\\n" "$value" "it\'s fine"'), "line one:it's fine")
  assert.equal(await harness.bash("cat <<'EOF'\nalpha\nbeta\nEOF"), 'alpha\nbeta')
  assert.equal(await harness.bash('exit_code() { return 3; }; exit_code'), '[exit code: 3]')
})

matrix('C52 the original bash tool clips what is large and answers when a program asks', async () => {
  const large = await harness.bash('seq 1 12050')
  assert.ok(large.startsWith('1\n2\n3\n'))
  assert.match(large, /<response clipped>/)
  assert.equal(await harness.bash('exec bash --noprofile --norc -i'), 'dsh> ')
  assert.match(await harness.bash('exit'), /next bash call starts from the workspace/)
  assert.equal(await harness.bash('printf "%s\\n" "$PWD"'), harness.cwd)
})
