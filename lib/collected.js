/**
 * Readers of collected outputs.
 * @module dsh-subprocess-native/lib/collected
 */

/** Reads one collected output by whole-stream offsets; consumes nothing. */
export class OutputReader {
  constructor(native, channel) {
    this.native = native
    this.channel = channel
  }

  /**
   * @param {number} fromByte a whole-stream offset
   * @returns {{ text: string, nextOffset: number, lossy: boolean, spillPath?: string }}
   */
  readFrom(fromByte) {
    const { bytes, nextOffset, lossy, spillPath } = this.native.readFrom(this.channel, fromByte)
    const text = bytes.toString('utf8')
    return spillPath === null ? { text, nextOffset, lossy } : { text, nextOffset, lossy, spillPath }
  }
}
