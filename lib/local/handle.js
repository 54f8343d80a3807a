/**
 * One command on this machine.
 * @module dsh-subprocess-native/lib/local/handle
 */
import { Handle, outputSpec } from '../handle.js'

/**
 * What the addon does with descriptor 1 or 2.
 * @param {'pipe' | 'inherit' | { maxBytes: number, spill?: { maxBytes: number } }} mode
 */
export function localOutput(mode) {
  // The program has the harness' own descriptor; no byte comes by here.
  if (mode === 'inherit') return { mode: 'inherited', maxBytes: 0, spillBytes: null }
  return outputSpec(mode)
}

/** A live command; `native` runs already, or has failed. */
export class LocalHandle extends Handle {
  openInherited() {}
}
