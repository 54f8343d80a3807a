/**
 * Finds the files that were built for this machine.
 * @module dsh-subprocess-native/lib/load
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)

/** Architectures of sandboxes, as `uname -m` and as Node names them; the likeliest first. */
const SUPERVISORS = [['x86_64', 'x64'], ['aarch64', 'arm64']]

/** Folder below `npm/` of what is built for this kind of machine. */
export const machine = `${process.platform}-${process.arch}`

/**
 * This machine's platform, as packages are named for it.
 * @returns {string} such as `linux-x64-gnu` or `darwin-arm64`
 */
export function platform() {
  if (process.platform === 'win32') return `${machine}-msvc`
  if (process.platform !== 'linux') return machine
  const { glibcVersionRuntime } = reportHeader()
  return `${machine}-${glibcVersionRuntime === undefined ? 'musl' : 'gnu'}`
}

/** The head of Node's report on itself, without its connections: their hosts' names would be asked for, one after the other. */
function reportHeader() {
  const { report } = process
  const { excludeNetwork } = report
  report.excludeNetwork = true
  try {
    return report.getReport().header
  } finally {
    report.excludeNetwork = excludeNetwork
  }
}

/**
 * A file of this package that a build made.
 * @param {string} path below `npm/`
 * @returns {string} where it is, or would be
 */
export function builtFile(path) {
  return fileURLToPath(new URL(`../npm/${path}`, import.meta.url))
}

/**
 * Loads the addon.
 * @returns {object} its exports
 * @throws {Error} that says which file is missing or why it can't be loaded, and what to do
 */
export function loadAddon() {
  const name = platform()
  const own = builtFile(`${machine}/dsh-subprocess-native.${name}.node`)
  const causes = []
  for (const file of [own, `dsh-subprocess-native-${name}`]) {
    if (file === own && !existsSync(own)) {
      causes.push(`${own} does not exist`)
      continue
    }
    try {
      return require(file)
    } catch (error) {
      causes.push(`${file}: ${error.message.split('\n', 1)[0]}`)
    }
  }
  throw new Error([
    `dsh-subprocess-native: there is no addon for ${name} that loads.`,
    ...causes.map(cause => `  - ${cause}`),
    'In a source checkout: npm run build. As a dependency: reinstall without --omit=optional, on the machine that runs it.',
  ].join('\n'))
}

/**
 * The packed supervisors that there are.
 * @returns {{ architecture: string, path: string, sha256: string, size: number }[]}
 */
export function packedSupervisors() {
  return SUPERVISORS.flatMap(([architecture, arch]) => {
    const path = builtFile(`supervisor/linux-${arch}.gz`)
    if (!existsSync(path)) return []
    const { sha256, size } = JSON.parse(readFileSync(builtFile(`supervisor/linux-${arch}.json`), 'utf8'))
    return [{ architecture, path, sha256, size }]
  })
}
