/**
 * What a spec must be before anything of it reaches the sandbox. Consumers match these texts.
 * @module dsh-subprocess-native/lib/validate
 */

/** The longest time that one timer of Node can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Refuses a grace that no timer can wait for.
 * @param {number} graceMs
 */
export function requireGrace(graceMs) {
  if (!Number.isFinite(graceMs) || graceMs <= 0 || graceMs > MAX_TIMER_MS) {
    throw new Error(`subprocess graceMs must be a positive finite number no greater than ${MAX_TIMER_MS}`)
  }
}

/**
 * Throws for a spec of `spawn` that can't be meant.
 * @param {object} spec
 */
export function requireSpawn(spec) {
  if (!spec.argv[0]) throw new Error('invalid argv: expected a non-empty program name at argv[0]')
  requireGrace(spec.graceMs)
  if (spec.signal?.aborted) {
    const { reason } = spec.signal
    throw new Error(`aborted before spawn: ${reason === undefined ? 'aborted' : String(reason)}`)
  }
}

/**
 * Why a program can't be started with these words, if it can't: the kernel ends all of them at a NUL.
 * @param {{ argv: readonly string[], cwd: string, env?: object }} spec
 * @param {string} [provider] who says so
 * @returns {Error | undefined}
 */
export function unspeakable({ argv, cwd, env }, provider = 'subprocess-e2b') {
  const invalid = what => Object.assign(new TypeError(`${provider}: ${what}`), { code: 'ERR_INVALID_ARG_VALUE' })
  const hasNul = text => typeof text === 'string' && text.includes('\0')
  if (argv.some(hasNul)) return invalid('argv must not contain NUL bytes')
  if (hasNul(cwd)) return invalid('cwd must not contain NUL bytes')
  const bad = Object.entries(env ?? {}).some(([name, value]) => name === '' || name.includes('=') || hasNul(name) || hasNul(value))
  return bad
    ? invalid('environment entries require non-empty NUL-free names without = and NUL-free values')
    : undefined
}

/**
 * An environment as the addon takes it.
 * @param {Record<string, string | undefined>} [env]
 * @returns {{ name: string, value: string | null }[]}
 */
export function variables(env = {}) {
  return Object.entries(env).map(([name, value]) => ({ name, value: value ?? null }))
}
