import assert from 'node:assert/strict'
import net from 'node:net'
import { after, test } from 'node:test'
import { until, within } from './support/deadline.js'
import { openLine } from './support/line.js'

const opened = []
after(() => {
  for (const { close } of opened) close()
})
const closing = (thing, close) => {
  opened.push({ close: () => close.call(thing) })
  return thing
}

/** A server that runs `serve` for each connection. */
async function listen(serve) {
  const server = net.createServer({ allowHalfOpen: true }, socket => {
    socket.on('error', () => {})
    serve(closing(socket, socket.destroy))
  })
  closing(server, server.close)
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

const echo = socket => socket.pipe(socket)
const open = async (target, options) => {
  const line = await openLine(target, options)
  return closing(line, line.close)
}
const dial = line => {
  const socket = net.connect({ port: Number(new URL(line.url).port), host: '127.0.0.1', noDelay: true })
  return closing(socket, socket.destroy)
}
const next = (socket, event) => within(new Promise(resolve => socket.once(event, resolve)), 5000, event)

test('a delay of 25 ms each way makes a round trip of 50 ms', async () => {
  const line = await open(await listen(echo), { delayMs: 25 })
  const socket = dial(line)
  const times = []
  for (let i = 0; i < 5; i++) {
    const start = performance.now()
    socket.write('x')
    await next(socket, 'data')
    times.push(performance.now() - start)
  }
  const median = times.sort((a, b) => a - b)[2]
  assert.ok(median > 49 && median < 70, `round trips: ${times}`)
})

test('a delay carries many bytes at once and keeps their order', async () => {
  const line = await open(await listen(echo), { delayMs: 25 })
  const socket = dial(line)
  const sent = Buffer.alloc(8 * 1024 * 1024)
  for (let i = 0; i < sent.length; i += 4) sent.writeUInt32LE(i, i)
  const start = performance.now()
  socket.end(sent)
  const parts = []
  socket.on('data', part => parts.push(part))
  await next(socket, 'end')
  assert.ok(Buffer.concat(parts).equals(sent))
  // One round trip for each 64 KiB would take 6.4 s.
  assert.ok(performance.now() - start < 3000, `took ${performance.now() - start} ms`)
})

test('a rate holds for all connections of a direction together', async () => {
  const line = await open(await listen(socket => socket.end(Buffer.alloc(512 * 1024))), { bytesPerSecond: 4 * 1024 * 1024 })
  const start = performance.now()
  const ends = [dial(line), dial(line)].map(socket => next(socket.resume(), 'end'))
  await Promise.all(ends)
  const took = performance.now() - start
  assert.ok(took > 230 && took < 1000, `1 MiB at 4 MiB/s took ${took} ms`)
})

test('a receiver that stalls stops the sender', async () => {
  let server
  const line = await open(await listen(socket => { server = socket }))
  const socket = dial(line).pause()
  await next(socket, 'connect')
  while (server === undefined) await new Promise(setImmediate)
  const block = Buffer.alloc(1024 * 1024)
  let written = 0
  let last = performance.now()
  const write = () => {
    last = performance.now()
    while (written < 256 && server.write(block)) written++
  }
  server.on('drain', write)
  write()
  await until(() => performance.now() - last > 300, 5000, 'the sender to be stopped')
  assert.ok(written < 64, `${written} MiB were taken for a reader that reads nothing`)
})

test('a cut resets both ends, and a silent line passes nothing until it speaks again', async () => {
  const line = await open(await listen(echo))
  const first = dial(line)
  await next(first, 'connect')
  first.write('x')
  await next(first, 'data')
  line.cut()
  assert.equal((await next(first, 'error')).code, 'ECONNRESET')

  const second = dial(line)
  await next(second, 'connect')
  line.silent = true
  second.write('late')
  let heard = false
  second.once('data', () => { heard = true })
  await new Promise(resolve => setTimeout(resolve, 100))
  assert.equal(heard, false)
  line.silent = false
  if (!heard) await next(second, 'data')
})

test('requests are counted by method and path, wherever the bytes are split', async () => {
  const line = await open(await listen(socket => socket.resume()))
  const socket = dial(line)
  const text = [
    'GET /health?x=1 HTTP/1.1\r\nhost: a\r\n\r\n',
    'POST /process.Process/Start HTTP/1.1\r\nContent-Length: 27\r\n\r\nGET /no HTTP/1.1\r\nhost:\r\n\r\n',
    'POST /process.Process/StreamInput HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1b\r\nGET /no HTTP/1.1\r\nhost:\r\n\r\n\r\n0\r\n\r\n',
    'GET /health HTTP/1.1\r\nhost: a\r\n\r\n',
  ].join('')
  for (const byte of text) {
    socket.write(byte)
    await new Promise(setImmediate)
  }
  while (line.bytes.up < text.length) await new Promise(setImmediate)
  assert.deepEqual([...line.requests.byRoute], [
    ['GET /health', 2], ['POST /process.Process/Start', 1], ['POST /process.Process/StreamInput', 1],
  ])
})
