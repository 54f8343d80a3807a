/** Name of the companion plugin. */
export declare const name: string
/** What it needs. */
export declare const inject: string[]
/** Registers the local provider; the result ends the registration. */
export declare const apply: (ctx: any) => Promise<() => void>
