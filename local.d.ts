/**
 * The subprocess seam on this very machine (Linux, macOS): a Cordis class plugin that provides `ctx.subprocess`.
 *
 * `ctx.subprocess` itself is typed by the seam package of your harness; what is here stands alone.
 * @module dsh-subprocess-native/local
 */

/** The plugin class; it takes no configuration. Its instances are whatever your Cordis says a service is, hence `any`. */
export declare const LocalSubprocessRuntime: {
  /** Throws when the context has a subprocess service already. Starts nothing. */
  new (ctx: any): any
}
/** The same class under the name of the older generation. */
export declare const LocalSubprocessService: typeof LocalSubprocessRuntime
export default LocalSubprocessRuntime
