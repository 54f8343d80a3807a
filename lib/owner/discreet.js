/**
 * Keeps secrets out of what is printed of the vendor SDK's objects, and changes nothing else about them.
 * @module dsh-subprocess-native/lib/owner/discreet
 */
import { inspect } from 'node:util'

/** Settings whose values nobody has to see. Values of headers may be credentials. */
const SECRET = new Set(['apiKey', 'accessToken', 'headers', 'apiHeaders', 'envdAccessToken', 'proxy'])

/**
 * What inspection and JSON show of `object` from now on.
 * @param {object} object
 * @param {() => object} show
 * @param {string} name of its class
 */
export function showAs(object, show, name) {
  // Not enumerable: the SDK copies its settings by spreading them.
  const hidden = value => ({ value, enumerable: false, configurable: true, writable: true })
  Object.defineProperty(object, inspect.custom, hidden((_depth, options, print = inspect) => `${name} ${print(show(), options)}`))
  Object.defineProperty(object, 'toJSON', hidden(show))
}

/**
 * @param {import('e2b').Sandbox} sandbox
 * @returns {import('e2b').Sandbox} the same
 */
export function discreet(sandbox) {
  const { connectionConfig, envdApi } = sandbox
  showAs(sandbox, () => ({ sandboxId: sandbox.sandboxId, sandboxDomain: sandbox.sandboxDomain }), 'Sandbox')
  const open = object => Object.fromEntries(Object.entries(object).filter(([key]) => !SECRET.has(key)))
  if (connectionConfig) showAs(connectionConfig, () => open(connectionConfig), 'ConnectionConfig')
  if (envdApi) showAs(envdApi, () => ({ version: envdApi.version }), 'EnvdApiClient')
  return sandbox
}
