/**
 * The few protobuf messages of `process.Process` that the bare client sends and reads.
 * @module bench/bare/wire
 */

/** One field: number and wire type 2. */
function field(number, bytes) {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes])
}

function varint(value) {
  const bytes = []
  while (value > 127) {
    bytes.push((value % 128) | 128)
    value = Math.floor(value / 128)
  }
  bytes.push(value)
  return Buffer.from(bytes)
}

/**
 * `StartRequest` without stdin (`/dev/null`) or with a pipe.
 * @param {string[]} argv
 * @param {boolean} stdin
 * @returns {Buffer}
 */
export function startRequest([cmd, ...args], stdin) {
  const process = Buffer.concat([field(1, Buffer.from(cmd)), ...args.map(arg => field(2, Buffer.from(arg)))])
  return Buffer.concat([field(1, process), varint(4 * 8), varint(stdin ? 1 : 0)])
}

/** `ProcessSelector` by pid. */
function selector(pid) {
  return field(1, Buffer.concat([varint(8), varint(pid)]))
}

/** `CloseStdinRequest`, and `StreamInputRequest.StartEvent`: both hold only the selector. */
export function selects(pid) {
  return selector(pid)
}

/** The first message of `StreamInput`. */
export function inputStart(pid) {
  return field(1, selector(pid))
}

/** A later message of `StreamInput`: stdin bytes. */
export function inputData(bytes) {
  return field(2, field(2, field(1, bytes)))
}

/** A Connect envelope: flags, length, message. */
export function envelope(message, flags = 0) {
  const head = Buffer.alloc(5)
  head.writeUInt8(flags, 0)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/**
 * Reads the head of a `StartResponse`.
 * @param {Buffer} head its first bytes, the whole of a short one
 * @returns {{ kind: 'start', pid: number } | { kind: 'data', length: number } | { kind: 'end', exitCode: number } | { kind: 'other' }}
 */
export function readEvent(head) {
  const reader = { at: 0, head }
  tag(reader)
  skipLength(reader)
  switch (tag(reader)) {
    case 1: {
      skipLength(reader)
      tag(reader)
      return { kind: 'start', pid: readVarint(reader) }
    }
    case 2: {
      skipLength(reader)
      tag(reader)
      return { kind: 'data', length: readVarint(reader) }
    }
    case 3: {
      const length = readVarint(reader)
      const code = length > 0 && tag(reader) === 1 ? readVarint(reader) : 0
      return { kind: 'end', exitCode: code % 2 === 0 ? code / 2 : -(code + 1) / 2 }
    }
    default: return { kind: 'other' }
  }
}

function tag(reader) {
  return Math.floor(readVarint(reader) / 8)
}

function skipLength(reader) {
  readVarint(reader)
}

function readVarint(reader) {
  let value = 0
  let scale = 1
  for (;;) {
    const byte = reader.head[reader.at++] ?? 0
    value += (byte & 127) * scale
    if (byte < 128) return value
    scale *= 128
  }
}
