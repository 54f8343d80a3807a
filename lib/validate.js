/**
 * What a spec must be before anything of it reaches the sandbox. Consumers match these texts.
 * @module dsh-subprocess-native/lib/validate
 */

/** The longest time that one timer of Node can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Refuses a grace that no timer can wait for.
 * @param {number} graceMs
 */
export function requireGrace(graceMs) {
  if (!Number.isFinite(graceMs) || graceMs <= 0 || graceMs > MAX_TIMER_MS) {
    throw new Error(`subprocess graceMs must be a positive finite number no greater than ${MAX_TIMER_MS}`)
  }
}

/** What is of another type than it must be. It is named, never shown: an environment has secrets. */
function wrong(what, wanted) {
  return Object.assign(new TypeError(`${what} must be ${wanted}`), { code: 'ERR_INVALID_ARG_TYPE' })
}

/**
 * Throws where a word is no text: the addon would say which value it got instead.
 * @param {{ argv: readonly string[], cwd?: string, env?: object | null }} spec
 */
function requireWords({ argv, cwd, env }) {
  if (!Array.isArray(argv)) throw wrong('argv', 'a list of strings')
  const index = argv.findIndex(word => typeof word !== 'string')
  // No program at all has a text of its own.
  if (index > 0 || (index === 0 && argv[0])) throw wrong(`argv[${index}]`, 'a string')
  if (cwd !== undefined && cwd !== null && typeof cwd !== 'string') throw wrong('cwd', 'a string')
  if (typeof env !== 'object' && env !== undefined) throw wrong('env', 'an object')
  const name = Object.keys(env ?? {}).find(name => typeof (env[name] ?? '') !== 'string')
  if (name !== undefined) throw wrong(`the environment entry ${JSON.stringify(name)}`, 'a string or undefined')
}

/**
 * What a command's descriptors are to be, checked and read once: what is wrong must be known before anything starts.
 * @param {{ stdin: unknown, stdout: unknown, stderr: unknown }} stdio of a spec
 * @returns {{ stdin: 'ignore' | 'pipe' | { data: Buffer }, stdout: object | 'pipe' | 'inherit', stderr: object | 'pipe' | 'inherit' }}
 */
export function requireStdio(stdio) {
  if (typeof stdio !== 'object' || stdio === null) throw wrong('stdio', 'an object')
  const { stdin, stdout, stderr } = stdio
  requireOutputs({ stdout, stderr })
  if (stdin === 'ignore' || stdin === 'pipe') return { stdin, stdout, stderr }
  if (typeof stdin !== 'object' || stdin === null) throw wrong('stdio.stdin', '\'ignore\', \'pipe\' or { data }')
  return { stdin: { data: inputBytes(stdin.data) }, stdout, stderr }
}

/**
 * Throws for a way of an output that there is not.
 * @param {Record<string, unknown>} outputs by name
 */
export function requireOutputs(outputs) {
  for (const [name, mode] of Object.entries(outputs)) {
    if (mode === 'pipe' || mode === 'inherit') continue
    if (typeof mode !== 'object' || mode === null) throw wrong(`stdio.${name}`, '\'pipe\', \'inherit\' or { maxBytes }')
    if (typeof mode.maxBytes !== 'number') throw wrong(`stdio.${name}.maxBytes`, 'a number')
    if (typeof (mode.spill?.maxBytes ?? 0) !== 'number') throw wrong(`stdio.${name}.spill.maxBytes`, 'a number')
  }
}

/** The bytes of `stdin: { data }`, as Node's own streams take them; nothing is an end at once. */
function inputBytes(data) {
  if (data === undefined || data === null) return Buffer.alloc(0)
  if (typeof data === 'string') return Buffer.from(data, 'utf8')
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  throw wrong('stdio.stdin.data', 'a string, a Buffer, a TypedArray or a DataView')
}

/**
 * Refuses what is no terminal's size.
 * @param {{ rows: number, cols: number }} size
 * @param {string} [provider] who says so
 */
export function requireSize(size, provider = 'subprocess-e2b') {
  for (const side of ['rows', 'cols']) {
    const count = size[side]
    if (!Number.isInteger(count) || count < 1 || count > 0xffff) throw new RangeError(`${provider}: a terminal has 1 to 65535 ${side}, not ${String(count)}`)
  }
}

/**
 * The size of a new terminal. One that the spec leaves out is as the originals have it.
 * @param {{ rows?: number, cols?: number }} spec
 * @param {string} [provider] who refuses it
 * @returns {{ rows: number, cols: number }}
 */
export function sizeOf({ rows = 24, cols = 80 }, provider) {
  requireSize({ rows, cols }, provider)
  return { rows, cols }
}

/**
 * Throws for a spec of `spawn` that can't be meant.
 * @param {object} spec
 */
export function requireSpawn(spec) {
  requireWords(spec)
  if (!spec.argv[0]) throw new Error('invalid argv: expected a non-empty program name at argv[0]')
  requireGrace(spec.graceMs)
  if (spec.signal?.aborted) {
    const { reason } = spec.signal
    throw new Error(`aborted before spawn: ${reason === undefined ? 'aborted' : String(reason)}`)
  }
}

/**
 * Why a program can't be started with these words, if it can't: the kernel ends all of them at a NUL. Throws where they are no words.
 * @param {{ argv: readonly string[], cwd: string, env?: object }} spec
 * @param {string} [provider] who says so
 * @returns {Error | undefined}
 */
export function unspeakable({ argv, cwd, env }, provider = 'subprocess-e2b') {
  requireWords({ argv, cwd, env })
  const hasNul = text => text?.includes('\0') === true
  if (argv.some(hasNul)) return invalid(`${provider}: argv must not contain NUL bytes`)
  if (hasNul(cwd)) return invalid(`${provider}: cwd must not contain NUL bytes`)
  const bad = Object.entries(env ?? {}).some(([name, value]) => name === '' || name.includes('=') || hasNul(name) || hasNul(value))
  return bad ? unspeakableEnvironment(provider) : undefined
}

/**
 * The error of a variable that no environment can hold.
 * @param {string} provider who says so
 * @returns {Error}
 */
export function unspeakableEnvironment(provider) {
  return invalid(`${provider}: environment entries require non-empty NUL-free names without = and NUL-free values`)
}

function invalid(text) {
  return Object.assign(new TypeError(text), { code: 'ERR_INVALID_ARG_VALUE' })
}

/**
 * An environment as the addon takes it.
 * @param {Record<string, string | undefined> | null} [env]
 * @returns {{ name: string, value: string | null }[]}
 */
export function variables(env) {
  return Object.entries(env ?? {}).map(([name, value]) => ({ name, value: value ?? null }))
}
