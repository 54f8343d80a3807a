/**
 * What a configuration says.
 * @module dsh-subprocess-native/lib/given
 */

/**
 * The keys that have a value: one without, `null` in YAML, is left out.
 * @param {object} config
 * @returns {object}
 */
export function given(config) {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value != null))
}
