/**
 * Errors as Node's programs know them.
 * @module dsh-subprocess-native/lib/errors
 */

/**
 * Makes the error that the addon describes.
 * @param {{ code: string, message: string, errno?: number, syscall?: string, path?: string }} facts
 * @returns {NodeJS.ErrnoException}
 */
export function toError({ code, message, errno, syscall, path }) {
  const error = Object.assign(new Error(message), { code })
  // Absent, not undefined: an inspected error shows what it has.
  for (const [key, value] of Object.entries({ errno, syscall, path })) {
    if (value !== undefined && value !== null) error[key] = value
  }
  return error
}

/** The error of a write whose reader is gone. */
export function brokenPipe() {
  return toError({ code: 'EPIPE', message: 'write EPIPE', errno: -32, syscall: 'write' })
}

/**
 * One failure as it is, several as one.
 * @param {unknown[]} failures
 * @param {string} message of the aggregate
 */
export function throwAll(failures, message) {
  if (failures.length === 1) throw failures[0] instanceof Error ? failures[0] : new Error(String(failures[0]))
  if (failures.length > 1) throw new AggregateError(failures, message)
}
