/**
 * Where this provider runs.
 * @module dsh-subprocess-native/lib/local/platform
 */

/**
 * Refuses systems whose processes it can't own.
 * @param {string} platform as `process.platform`
 */
export function requirePlatform(platform) {
  if (platform === 'linux') return
  throw new Error(
    `dsh-subprocess-native/local runs on Linux, not on ${platform}: use @deepseek-ai/dsh-subprocess-local here, `
    + 'or dsh-subprocess-native, which drives a sandbox from any system',
  )
}
