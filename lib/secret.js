/**
 * The secret that a harness keeps, so that its next process finds its running commands again (C80).
 * @module dsh-subprocess-native/lib/secret
 */
import { createHmac } from 'node:crypto'

/** Shorter secrets can be guessed by programs in the sandbox. */
const MIN_LENGTH = 32

/**
 * Refuses a secret that is none.
 * @param {unknown} session
 */
export function requireSession(session) {
  if (session !== undefined && (typeof session !== 'string' || session.length < MIN_LENGTH)) {
    throw new Error(`subprocess-e2b: session must be a secret string of at least ${MIN_LENGTH} characters`)
  }
}

/**
 * The folder's name and the token that a session has in one sandbox: another sandbox learns nothing of them.
 * @param {string | undefined} session the configured secret
 * @param {string} sandboxId
 * @returns {{ name: string, token: Buffer } | null}
 */
export function sessionIn(session, sandboxId) {
  if (session === undefined) return null
  const derive = purpose => createHmac('sha256', session).update(`${purpose}\0${sandboxId}`).digest()
  return { name: derive('name').toString('hex', 0, 8), token: derive('token') }
}
