/**
 * What adapters that run commands through the vendor SDK need for its login shell.
 * @module dsh-subprocess-native/lib/owner/shell
 */
import { randomUUID } from 'node:crypto'

/**
 * Quotes one argument for a POSIX shell.
 * @param {string} value
 * @returns {string} one word, nothing of which is expanded
 */
export function quoteE2BShellArg(value) {
  return `'${value.replaceAll("'", `'"'"'`)}'`
}

/**
 * Variables for an internal command. The SDK runs a login shell, which reads files of its home: this home does not exist.
 * @param {Readonly<Record<string, string>>} [overrides] further variables; `HOME` can't be one of them
 * @returns {Record<string, string>} a new object each time
 */
export function e2bControlEnvs(overrides = {}) {
  return { ...overrides, HOME: `/.dsh-e2b-control-${randomUUID()}` }
}
