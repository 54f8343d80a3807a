/**
 * What our owner and our provider tell each other beyond the seam, by symbols that every copy of this package knows.
 *
 * Cordis tears owner and provider down at the same time: by its hold a provider says that it still needs the sandbox.
 * And a provider that is told of the sandbox when it exists, not when it is ready, brings its supervisor there meanwhile.
 * Other owners have neither.
 * @module dsh-subprocess-native/lib/hold
 */

/** An owner's method: `(holder) => release`. */
export const HOLD = Symbol.for('dsh-subprocess-native.hold')
/** An owner's method: `() => Early | undefined`. */
export const CREATED = Symbol.for('dsh-subprocess-native.created')

/**
 * @typedef {object} Holder
 * @property {() => boolean} isBusy whether it runs commands now
 * @property {() => boolean} isLeaving whether its disposal has begun: the owner waits for that only
 */

/**
 * Holds an owner's sandbox.
 * @param {object} owner of any kind
 * @param {Holder} holder
 * @returns {() => void} lets it go; may be called again
 */
export function takeHold(owner, holder) {
  return owner?.[HOLD]?.(holder) ?? (() => {})
}

/**
 * @typedef {object} Early
 * @property {Promise<import('e2b').Sandbox>} sandbox as soon as it exists; its directories may not. Rejects as `getSandbox()` will
 * @property {() => boolean} wasKilled whether the owner has ended it, because it could not be set up
 */

/**
 * The sandbox as soon as it exists.
 * @param {object} owner of any kind
 * @returns {Early | undefined} none when the owner does not tell
 */
export function earlySandbox(owner) {
  return owner?.[CREATED]?.()
}
