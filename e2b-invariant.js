/**
 * Registers the owner with the harness' invariants. It installs none: a sandbox has one source of truth, its control plane.
 * @module dsh-subprocess-native/e2b/invariant
 */

/** Name of the companion plugin. */
export const name = 'dsh-subprocess-native-e2b-invariant'
/** What it needs. */
export const inject = ['invariants']

const install = () => {}

/**
 * @param {object} ctx a Cordis context that has `invariants`
 * @returns {Promise<() => void>} ends the registration
 */
export const apply = async ctx => ctx.invariants.register('dsh-subprocess-native/e2b', install)
