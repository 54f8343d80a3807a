/**
 * A command's pipes as Node streams. They pull: nothing is buffered beyond the addon's own windows.
 * @module dsh-subprocess-native/lib/streams
 */
import { Readable, Writable } from 'node:stream'
import { brokenPipe, toError } from './errors.js'
import { waker } from './native.js'

/** Most bytes in one chunk: what is ready is joined up to this. */
const CHUNK = 256 * 1024
/** What waits in an input before its writer is asked to wait. */
const HIGH_WATER = 64 * 1024
/** From this size on a piece is not joined with others: once that much waits in an output, no more is put to it. */
const WHOLE = 16 * 1024
/** How long a reader that stalled may hold up the outcome of what is terminated, in milliseconds. */
export const STALLED_MS = 100
/** How often a reader is served before everybody else has a turn. */
const IN_A_ROW = 8

/**
 * Lets V8 look how much memory hangs on young buffers. It does that only where it allocates one itself, and then collects these alone;
 * for buffers of an addon's memory it marks the whole heap instead, every 64 MiB (`Heap::AllocateExternalBackingStore` in V8).
 */
function collect() {
  void new ArrayBuffer(1)
}

/** An output. `pump` is to be called when it has bytes, or its end. */
export class OutputStream extends Readable {
  constructor(native, channel) {
    super({ highWaterMark: WHOLE })
    this.native = native
    this.channel = channel
    this.wanted = false
    this.served = 0
    this.rests = false
    this.room = undefined
  }

  _read() {
    this.wanted = true
    // What is pushed in here is joined with what waits to be read, by a copy. Large pieces come one by one instead.
    if (this.readableFlowing !== true && this.readableLength >= WHOLE) process.nextTick(() => this.attend())
    else this.attend()
  }

  /** Serves a reader; whoever waits for bytes keeps the program, whatever else of the command is over. */
  attend() {
    this.serve()
    waker.hold()
  }

  pump() {
    this.served = 0
    this.serve()
  }

  serve() {
    while (this.wanted && !this.destroyed) {
      const chunk = this.native.take(this.channel, CHUNK) ?? this.readLent()
      if (chunk !== null) {
        if (chunk.length >= WHOLE) collect()
        // What hears it may ask for more itself.
        this.wanted = false
        try {
          this.wanted = this.push(chunk) || this.wanted
        } catch (error) {
          // A listener's. The stream goes on, as Node's do.
          this._read()
          throw error
        }
      } else {
        if (this.native.isOver(this.channel)) {
          this.wanted = false
          this.room = undefined
          // An end would say that this was all.
          if (this.native.isCutOff(this.channel)) this.destroy(toError(this.native.lost()))
          else this.push(null)
        }
        return
      }
    }
  }

  /** What a fast program writes on this machine is read without a detour. */
  readLent() {
    if (!this.native.isLent(this.channel)) return null
    if (this.served === IN_A_ROW) return this.rest()
    this.served += 1
    const room = this.room ?? Buffer.allocUnsafeSlow(CHUNK)
    const count = this.native.readLent(this.channel, room)
    const piece = room.subarray(0, count)
    // A piece holds all of its room.
    const worthy = count >= CHUNK / 2
    this.room = worthy || count === 0 ? undefined : room
    if (worthy) return piece
    return count === 0 ? null : Buffer.from(piece)
  }

  /** Lets everybody else have a turn: nothing else ends a row of reads while the program keeps up. */
  rest() {
    if (!this.rests) {
      this.rests = true
      setImmediate(() => {
        this.rests = false
        this.served = 0
        this.attend()
      })
    }
    return null
  }

  /** When it has closed and its reader, a loop perhaps, has had its turn. */
  closed() {
    return new Promise(resolve => { this.once('close', () => setImmediate(resolve)) })
  }

  /** Whether somebody reads it who has not had all of it. */
  isRead() {
    if (this.destroyed || this.readableEnded || !this.native.hasEnded(this.channel)) return false
    return this.readableFlowing !== null || this.readableDidRead || this.listenerCount('readable') > 0
  }

  _destroy(error, callback) {
    this.room = undefined
    this.native.closeOutput(this.channel)
    callback(error)
  }
}

/** A terminal's output. Nobody reads it any more once it is destroyed; the program goes on, as it would if somebody did. */
export class TerminalOutput extends OutputStream {
  pump() {
    if (!this.destroyed) return super.pump()
    while (this.native.take(this.channel, CHUNK) !== null);
  }

  _destroy(error, callback) {
    callback(error)
    this.pump()
  }
}

/** An input. `pump` is to be called when it takes bytes again, or none any more. */
export class InputStream extends Writable {
  constructor(native) {
    super({ highWaterMark: HIGH_WATER })
    this.native = native
    this.writing = undefined
    this.orphaned = false
    // A program that stops reading must not end the harness; listeners of the caller hear it as well.
    this.on('error', () => {})
  }

  _write(chunk, _encoding, callback) {
    this.writing = { rest: chunk, callback }
    this.pump()
  }

  pump() {
    const { writing } = this
    if (writing === undefined) return
    while (writing.rest.length > 0) {
      const taken = this.native.write(writing.rest)
      writing.rest = writing.rest.subarray(taken)
      if (taken === 0) {
        if (!this.native.isInputClosed()) return
        return this.settle(brokenPipe())
      }
    }
    this.settle()
  }

  /** The program is over: nobody will ever read this. */
  close() {
    this.pump()
    if (this.writableFinished || this.destroyed) return
    this.orphaned = true
    this.destroy()
  }

  /** As any write that nobody reads: Node's own streams would keep silent about one after their end (C14). */
  write(chunk, encoding, callback) {
    if (!this.orphaned) return super.write(chunk, encoding, callback)
    const error = brokenPipe()
    const told = [encoding, callback].find(argument => typeof argument === 'function')
    process.nextTick(() => {
      told?.(error)
      this.emit('error', error)
    })
    return false
  }

  settle(error) {
    const { callback } = this.writing
    this.writing = undefined
    callback(error)
  }

  _final(callback) {
    this.native.endInput()
    callback()
  }

  _destroy(error, callback) {
    this.native.endInput()
    if (this.writing !== undefined) this.settle(error ?? brokenPipe())
    callback(error)
  }
}

/** Bytes that are known from the beginning. A program that does not want them is no error. */
export class BatchInput {
  constructor(native, data) {
    this.native = native
    // An inspected handle must not show it.
    Object.defineProperty(this, 'rest', { writable: true })
    this.rest = data
    this.pump()
  }

  close() {
    this.pump()
  }

  pump() {
    if (this.rest === undefined) return
    while (this.rest.length > 0) {
      const taken = this.native.write(this.rest)
      this.rest = this.rest.subarray(taken)
      if (taken === 0 && !this.native.isInputClosed()) return
      if (taken === 0) break
    }
    this.rest = undefined
    this.native.endInput()
  }
}
