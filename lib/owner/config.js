/**
 * The owner's configuration.
 * @module dsh-subprocess-native/lib/owner/config
 */
import { posix } from 'node:path'
import z from '@deepseek-ai/schemastery'
import { given } from '../given.js'

const DEFAULT_CWD = '/home/user/workspace'
const DEFAULT_TIMEOUT_MS = 300_000
const DEFAULT_TEMPLATE = 'base'

/** Variables that say where the servers are; the addon knows what each means. */
const ENVIRONMENT = ['E2B_API_URL', 'E2B_SANDBOX_URL', 'E2B_DOMAIN', 'E2B_DEBUG']

/** The schema that Cordis fills defaults from and that the harness renders. */
export const Config = z.object({
  apiKey: z.string().role('secret').description('API key; else E2B_API_KEY. It never enters the sandbox.'),
  cwd: z.string().default(DEFAULT_CWD).description('The directory in the sandbox that all adapters share.'),
  timeoutMs: z.number().default(DEFAULT_TIMEOUT_MS).description("The sandbox' life, in milliseconds."),
  template: z.string().description('Template of the sandbox; the vendor\'s default otherwise.'),
  envs: z.dict(z.string()).description('Variables of every process in the sandbox.'),
  metadata: z.dict(z.string()).description('Labels of the sandbox.'),
  domain: z.string().description('Domain of the service; else E2B_DOMAIN.'),
  keepAlive: z.boolean().default(false).description('Prolong the life while commands run.'),
  sandboxId: z.string().description('Use this sandbox, which exists, and never end it.'),
  sdk: z.string().description('Module to take the classes of the sandbox object from; the pinned SDK otherwise.'),
})

/**
 * Checks a configuration, and fills in what a caller without schema left out.
 * @param {object} [config]
 * @returns {object} with `apiKey` from the environment when it is not configured
 */
export function resolveConfig(config = {}) {
  const resolved = { cwd: DEFAULT_CWD, timeoutMs: DEFAULT_TIMEOUT_MS, keepAlive: false, ...given(config) }
  const { apiKey = process.env.E2B_API_KEY ?? '', cwd, timeoutMs } = resolved
  if (apiKey.length === 0) throw new Error('dsh-e2b: configure apiKey or set E2B_API_KEY')
  if (!posix.isAbsolute(cwd)) throw new Error(`dsh-e2b: cwd must be an absolute Linux path: ${cwd}`)
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0) throw new Error('dsh-e2b: timeoutMs must be a positive finite number')
  if (resolved.sandboxId !== undefined) refuseBeside(resolved, ['template', 'envs', 'metadata'])
  return { ...resolved, apiKey, runtimeRoot: posix.join(cwd, '.dsh-e2b') }
}

/** A key that would change nothing is a mistake. */
function refuseBeside(config, keys) {
  const isSet = value => value !== undefined && (typeof value === 'string' || Object.keys(value).length > 0)
  const key = keys.find(key => isSet(config[key]))
  if (key !== undefined) throw new Error(`dsh-e2b: ${key} is for a new sandbox; sandboxId names one that exists`)
}

/**
 * A configuration as the addon takes it.
 * @param {object} config what {@link resolveConfig} gave
 */
export function ownerConfig({ apiKey, domain, timeoutMs, cwd, runtimeRoot, template, envs, metadata, sandboxId }) {
  const { E2B_ACCESS_TOKEN: accountToken } = process.env
  return {
    apiKey,
    accountToken: accountToken || null,
    environment: pairs(Object.fromEntries(ENVIRONMENT.map(name => [name, process.env[name] ?? '']))),
    domain: domain ?? null,
    timeoutMs,
    cwd,
    runtimeRoot,
    template: template ?? DEFAULT_TEMPLATE,
    envs: pairs(envs),
    metadata: pairs(metadata),
    sandboxId: sandboxId ?? null,
  }
}

function pairs(object = {}) {
  return Object.entries(object).map(([name, value]) => ({ name, value }))
}
