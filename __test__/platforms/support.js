/**
 * A copy of the package as it would be on another system: its JavaScript, and what a test says was built for it.
 * @module test/platforms/support
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtFile, machine, platform } from '../../lib/load.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const pretend = new URL('fixtures/pretend.mjs', import.meta.url).href

/** The addon of this machine, which the copy takes for its own where a test wants one that loads. */
export const OWN_ADDON = builtFile(`${machine}/dsh-subprocess-native.${platform()}.node`)

/** One copy in a directory of its own. */
export class Package {
  constructor() {
    this.root = realpathSync(mkdtempSync(join(tmpdir(), 'dsh-platform-')))
    for (const name of readdirSync(root).filter(name => /\.(js|json)$/.test(name))) cpSync(join(root, name), join(this.root, name))
    cpSync(join(root, 'lib'), join(this.root, 'lib'), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(this.root, 'node_modules'))
  }

  /** @param {string} path below the copy @param {string | Buffer} data */
  put(path, data) {
    mkdirSync(dirname(join(this.root, path)), { recursive: true })
    writeFileSync(join(this.root, path), data)
    return this
  }

  /** @param {string} path below the copy @param {string} from a file */
  copy(path, from) {
    return this.put(path, readFileSync(from))
  }

  /**
   * Runs a module in the copy.
   * @param {string} source imports the copy's files relatively
   * @param {string} [system] `OS-ARCH`, as `process` has them: what Node shall take itself for
   * @returns {{ stdout: string, stderr: string, status: number | null }}
   */
  run(source, system) {
    this.put('main.mjs', source)
    const args = system === undefined ? [] : ['--import', pretend]
    const { stdout, stderr, status } = spawnSync(process.execPath, [...args, 'main.mjs'], {
      cwd: this.root, encoding: 'utf8', env: { ...process.env, PRETEND: system }, timeout: 60_000,
    })
    return { stdout, stderr, status }
  }

  remove() {
    rmSync(this.root, { recursive: true, force: true })
  }
}

/** A module that says why `entry` does not load, or what it exports. */
export const loading = entry => `
  const outcome = await import('./${entry}').then(exports => Object.keys(exports).sort(), error => error.message)
  console.log(JSON.stringify(outcome))
`
