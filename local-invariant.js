/**
 * Registers the local provider with the harness' invariants. It installs none: a command's facts have one source, the kernel.
 * @module dsh-subprocess-native/local/invariant
 */

/** Name of the companion plugin. */
export const name = 'dsh-subprocess-native-local-invariant'
/** What it needs. */
export const inject = ['invariants']

const install = () => {}

/**
 * @param {object} ctx a Cordis context that has `invariants`
 * @returns {Promise<() => void>} ends the registration
 */
export const apply = async ctx => ctx.invariants.register('dsh-subprocess-native/local', install)
