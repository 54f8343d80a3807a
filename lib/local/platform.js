/**
 * Where this provider runs.
 * @module dsh-subprocess-native/lib/local/platform
 */

/** Systems whose processes it can own, as `process.platform` has them. */
const SYSTEMS = new Set(['linux', 'darwin'])

/**
 * Refuses the others.
 * @param {string} platform as `process.platform`
 */
export function requirePlatform(platform) {
  if (SYSTEMS.has(platform)) return
  throw new Error(
    `dsh-subprocess-native/local runs on Linux and macOS, not on ${platform}: use @deepseek-ai/dsh-subprocess-local here, `
    + 'or dsh-subprocess-native, which drives a sandbox from any system',
  )
}
