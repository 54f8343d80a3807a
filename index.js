/**
 * The subprocess seam in E2B sandboxes: a Cordis class plugin that provides `ctx.subprocess`.
 * @module dsh-subprocess-native
 */
export { E2BSubprocessRuntime, E2BSubprocessRuntime as E2BSubprocessService, default } from './lib/provider.js'
