/**
 * Makes a fork of the harness out of the installed packages: another scope, other package names, another environment prefix.
 * @module test/compositions/fork
 */
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SCOPE = '@deepseek-ai'
const TEXTS = new Set(['.js', '.mjs', '.json', '.yml'])

const packageName = name => name.replace(/^dsh-/, 'toh-')
const renamed = text => text.replaceAll(`${SCOPE}/dsh-`, '@x/toh-').replaceAll(`${SCOPE}/`, '@x/')
const prefixed = text => renamed(text).replaceAll('DSH_', 'TOH_')

/**
 * @returns {Promise<string>} a folder with the fork in `node_modules`, our package beside it as it is, and the examples, which
 * name the fork's packages
 */
export async function fork() {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'fork-')))
  const modules = join(folder, 'node_modules')
  await mkdir(join(modules, '@x'), { recursive: true })
  const scope = join(root, 'node_modules', SCOPE)
  await Promise.all((await readdir(scope)).map(name => copy(join(scope, name), join(modules, '@x', packageName(name)), prefixed)))
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name !== SCOPE && !name.startsWith('.')) await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  await symlink(root, join(modules, 'dsh-subprocess-native'))
  // Ours keep their variables: they are not of the harness.
  for (const ours of ['examples', '__test__/support']) await copy(join(root, ours), join(folder, ours), renamed)
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

/** Copies a folder, its texts changed. */
async function copy(from, to, change) {
  await mkdir(to, { recursive: true })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copy(source, target, change)
    else if (TEXTS.has(extname(entry.name))) await writeFile(target, change(await readFile(source, 'utf8')))
    else if (!/\.(ts|map|md)$/.test(entry.name)) await cp(source, target)
  }
}
