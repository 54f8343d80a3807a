/**
 * The owner's failures as the vendor SDK's errors.
 * @module dsh-subprocess-native/lib/owner/errors
 */

/** Which class of the SDK a failure is of; what is missing here is its general one, or a plain error when we said it. */
const CLASSES = {
  ERR_E2B_UNAUTHORIZED: 'AuthenticationError',
  ERR_E2B_RATE_LIMITED: 'RateLimitError',
  ERR_E2B_TEMPLATE: 'TemplateError',
  ERR_E2B_ANSWER_LOST: 'TimeoutError',
  ERR_E2B_RUNTIME_ROOT: 'Error',
  ERR_E2B_DISPOSING: 'Error',
  ERR_E2B_SETUP: 'Error',
}

/**
 * @param {{ code: string, message: string, status?: number, errorCode?: string, retryAfterMs?: number }} facts of the addon
 * @param {object} sdk the module whose classes are used
 * @param {boolean} joins whether an existing sandbox was asked for: then what is not found is the sandbox
 * @returns {Error} with these facts but for the message as properties
 */
export function ownerError({ message, ...facts }, sdk, joins) {
  const name = facts.code === 'ERR_E2B_NOT_FOUND' && joins ? 'SandboxNotFoundError' : CLASSES[facts.code] ?? 'SandboxError'
  const Class = name === 'Error' ? Error : sdk[name] ?? Error
  const error = new Class(message)
  for (const [key, value] of Object.entries(facts)) {
    if (value !== undefined && value !== null) error[key] = value
  }
  return error
}
