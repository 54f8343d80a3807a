/**
 * The vendor SDK's object for a sandbox that the addon created.
 * @module dsh-subprocess-native/lib/owner/sandbox
 */
import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as pinned from 'e2b'
import { discreet } from './discreet.js'

/**
 * The module whose classes are used.
 * @param {string} [name] as this package sees it, an absolute path or a URL
 * @returns {object | Promise<object>} the pinned SDK when none is named; else the module, which must have `Sandbox`
 */
export function loadSdk(name) {
  return name === undefined ? pinned : importSdk(name)
}

async function importSdk(name) {
  const sdk = await import(isAbsolute(name) ? pathToFileURL(name).href : name)
  if (typeof sdk.Sandbox !== 'function') throw new Error(`dsh-e2b: sdk must name a module that exports Sandbox: ${name}`)
  return sdk
}

/**
 * Makes the object as `Sandbox.create` does after its request.
 * @param {object} sdk
 * @param {{ sandboxId: string, domain: string | null, envdVersion: string, accessToken: string | null, trafficToken: string | null }} facts
 * @param {{ apiKey: string, domain?: string }} config
 * @returns {import('e2b').Sandbox}
 */
export function makeSandbox({ Sandbox }, facts, { apiKey, domain }) {
  return discreet(new Sandbox({
    sandboxId: facts.sandboxId,
    sandboxDomain: facts.domain ?? undefined,
    envdVersion: facts.envdVersion,
    envdAccessToken: facts.accessToken ?? undefined,
    trafficAccessToken: facts.trafficToken ?? undefined,
    apiKey,
    domain,
    // The control plane has taken this key: its form is right.
    validateApiKey: false,
  }))
}
