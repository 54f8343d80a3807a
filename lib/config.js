/**
 * The provider's configuration.
 * @module dsh-subprocess-native/lib/config
 */
import z from '@deepseek-ai/schemastery'
import { given } from './given.js'
import { requireSession } from './secret.js'

const DAY_MS = 24 * 60 * 60 * 1000
const TEN_MINUTES_MS = 10 * 60 * 1000
/** The first frame to the supervisor has room for twice as much. */
const MAX_PREFIXES = 32 * 1024

/** The schema that Cordis fills defaults from and that the harness renders. */
export const Config = z.object({
  pollMs: z.number().default(20).description('Kept for compositions of the original; nothing is polled here.'),
  startupWaitMs: z.number().default(0).description('How long `spawn` may hold its caller for a process id, in milliseconds.'),
  envPrefixes: z.array(z.string()).default(['DSH_', 'TOH_']).description('Ambient variables of the sandbox that begin so do not reach commands.'),
  loginEnvironment: z.boolean().default(false).description("Read the sandbox' /etc/profile once for the ambient environment."),
  session: z.string().role('secret').description('A secret by which a later process of this harness finds its running commands again.'),
  supervisorPath: z.string().description('Absolute path of a supervisor in the image; nothing is uploaded then.'),
  orphanTimeoutMs: z.number().default(DAY_MS).description('After this long without the harness everything in the sandbox is ended, in milliseconds.'),
  lostAfterMs: z.number().default(60_000).description('How long an unreachable sandbox is waited for, in milliseconds.'),
  silenceMs: z.number().default(15_000).description('A connection that brings nothing for this long is given up for a new one, in milliseconds; it is pinged three times as often.'),
})

/**
 * Checks a configuration, and fills in what a caller without schema left out.
 * @param {object} [config]
 * @returns {Required<object>}
 */
export function resolveConfig(config = {}) {
  const resolved = { ...Config({}), ...given(config) }
  const refuse = (key, what) => { throw new Error(`subprocess-e2b: ${key} must be ${what}`) }
  if (!Number.isSafeInteger(resolved.pollMs) || resolved.pollMs <= 0) refuse('pollMs', 'a positive safe integer')
  for (const key of ['startupWaitMs', 'orphanTimeoutMs', 'lostAfterMs']) {
    if (!Number.isFinite(resolved[key]) || resolved[key] < 0) refuse(key, 'a finite number, zero or more')
  }
  requireSession(resolved.session)
  // A ping must come back in a third of it, over any line.
  if (!Number.isFinite(resolved.silenceMs) || resolved.silenceMs < 300) refuse('silenceMs', 'a finite number, 300 or more')
  const { envPrefixes, supervisorPath } = resolved
  if (!Array.isArray(envPrefixes) || !envPrefixes.every(prefix => typeof prefix === 'string' && prefix !== '')) {
    refuse('envPrefixes', 'a list of non-empty strings')
  }
  if (Buffer.byteLength(envPrefixes.join('')) > MAX_PREFIXES) refuse('envPrefixes', `at most ${MAX_PREFIXES} bytes in all`)
  if (supervisorPath !== undefined && !supervisorPath.startsWith('/')) refuse('supervisorPath', 'an absolute path')
  return resolved
}

/**
 * A configuration as the addon takes it.
 * @param {Required<object>} config
 * @param {object[]} supervisors
 */
export function serviceConfig(config, supervisors) {
  return {
    envPrefixes: config.envPrefixes,
    loginEnvironment: config.loginEnvironment,
    supervisorPath: config.supervisorPath ?? null,
    supervisors,
    orphanBusyMs: config.orphanTimeoutMs,
    // Zero is never for both.
    orphanIdleMs: Math.min(config.orphanTimeoutMs, TEN_MINUTES_MS),
    lostAfterMs: config.lostAfterMs,
    silenceMs: config.silenceMs,
  }
}
