import Provider, { LocalSubprocessRuntime, LocalSubprocessService } from 'dsh-subprocess-native/local'
import { apply, inject, name } from 'dsh-subprocess-native/local/invariant'
import type { SubprocessService } from '@deepseek-ai/dsh-subprocess'
import type { SubprocessRuntime } from 'dsh-subprocess-next'

// An instance is taken for the seam's own service, of either generation.
declare const ctx: unknown
const older: SubprocessService = new LocalSubprocessService(ctx)
const newer: SubprocessRuntime = new LocalSubprocessRuntime(ctx)
class Derived extends Provider {}
const derived: SubprocessRuntime = new Derived(ctx)

// @ts-expect-error it takes no configuration
new Provider(ctx, { anything: 1 })

const words: string[] = [name, ...inject]
const end: Promise<() => void> = apply(ctx)
export { derived, end, newer, older, words }
