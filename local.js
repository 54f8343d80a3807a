/**
 * The subprocess seam on this very machine: a Cordis class plugin that provides `ctx.subprocess`.
 * @module dsh-subprocess-native/local
 */
export { LocalSubprocessRuntime, LocalSubprocessRuntime as LocalSubprocessService, default } from './lib/local/provider.js'
