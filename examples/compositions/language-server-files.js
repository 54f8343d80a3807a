/**
 * The files of a language server as one archive.
 * @module examples/compositions/language-server-files
 */
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { basename, dirname } from 'node:path'
import { promisify } from 'node:util'

const require = createRequire(import.meta.url)

/** What a server needs of its packages; the compiler's library is that of ES5 alone. */
const FILES = {
  'typescript-language-server': ['package.json', 'lib/cli.mjs'],
  typescript: ['package.json', 'lib/tsserver.js', 'lib/_tsserver.js', 'lib/typescript.js', 'lib/typingsInstaller.js', 'lib/lib.es5.d.ts', 'lib/lib.decorators.d.ts', 'lib/lib.decorators.legacy.d.ts'],
}

/**
 * @returns {Promise<Buffer>} a gzipped tar archive with one folder a package
 */
export async function packed() {
  const args = Object.entries(FILES).flatMap(([name, files]) => {
    const folder = dirname(require.resolve(`${name}/package.json`))
    return ['-C', dirname(folder), ...files.map(file => `${basename(folder)}/${file}`)]
  })
  const { stdout } = await promisify(execFile)('tar', ['-cz', ...args], { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 })
  return stdout
}
