/**
 * What the addon must know of a sandbox, from the vendor SDK's object.
 * @module dsh-subprocess-native/lib/facts
 */

const ENVD_PORT = 49983

/**
 * Headers that the SDK speaks of itself; ours are the client's own.
 */
const OF_THE_SDK = new Set(['user-agent', 'browser', 'lang', 'lang_version', 'package_version', 'publisher', 'sdk_runtime', 'system', 'x-api-key', 'authorization'])

/**
 * @param {import('e2b').Sandbox} sandbox of any owner
 * @param {string} runtimeRoot our directory in it
 * @returns {object} SandboxFacts of the addon
 * @throws {Error} when the object is no sandbox of the SDK
 */
export function sandboxFacts(sandbox, runtimeRoot) {
  const { sandboxId, connectionConfig } = sandbox ?? {}
  const envdUrl = sandbox?.envdApiUrl
    ?? connectionConfig?.getSandboxUrl?.(sandboxId, { sandboxDomain: sandbox.sandboxDomain, envdPort: ENVD_PORT })
  if (typeof sandboxId !== 'string' || typeof envdUrl !== 'string') {
    throw new Error('subprocess-e2b: the owner gave no sandbox of the E2B SDK (sandboxId and envdApiUrl are needed)')
  }
  const { headers = {}, apiUrl, apiKey, accessToken, debug } = connectionConfig ?? {}
  return {
    sandboxId,
    envdUrl,
    accessToken: sandbox.envdAccessToken ?? null,
    trafficToken: sandbox.trafficAccessToken ?? null,
    headers: Object.entries(headers)
      .filter(([name, value]) => typeof value === 'string' && !OF_THE_SDK.has(name.toLowerCase()))
      .map(([name, value]) => ({ name, value })),
    envdVersion: sandbox.envdApi?.version ?? '',
    // In debug mode there is no control plane, and nobody who could say that a sandbox is gone.
    apiUrl: debug || typeof apiUrl !== 'string' ? null : apiUrl,
    apiKey: apiKey ?? null,
    accountToken: accessToken ?? null,
    runtimeRoot,
  }
}
