/**
 * What a fresh checkout lacks: the peers from npm and the binaries.
 * @module demo/prepare
 */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout's own folder. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** Installs the dependencies unless all of them are there, each in its version. */
export function install() {
  if (isInstalled()) return
  console.log('installing the peers from npm (once)')
  execute('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
}

function isInstalled() {
  const { dependencies, devDependencies } = manifest(root)
  return Object.entries({ ...dependencies, ...devDependencies }).every(([name, wanted]) => {
    const folder = join(root, 'node_modules', name)
    // `npm:NAME@VERSION` and `^VERSION` have the version at their end; a range is taken as it was installed.
    return existsSync(join(folder, 'package.json')) && (/^[\^~]/.test(wanted) || wanted.endsWith(manifest(folder).version))
  })
}

function manifest(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

/**
 * Builds what the demo runs, which is quick when nothing changed.
 * @param {'native' | 'ts'} provider the original on a server of the environment needs nothing built
 */
export function build(provider) {
  if (provider === 'ts' && process.env.DSH_TEST_E2B_API_URL !== undefined) return
  console.log('building (minutes the first time, seconds later)')
  execute(process.execPath, [join(root, 'scripts', 'build.mjs')])
}

/** Runs a program in the checkout with our own streams; its failure ends the demo. */
function execute(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' && program === 'npm' })
  if (error !== undefined) throw error
  if (status !== 0) process.exit(status ?? 1)
}
