import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { platform } from '../../lib/load.js'
import { requirePlatform } from '../../lib/local/platform.js'
import { OWN_ADDON, Package, loading } from './support.js'

const packages = []
const fresh = () => {
  const one = new Package()
  packages.push(one)
  return one
}
after(() => packages.forEach(one => one.remove()))

const outcome = (one, entry, system) => {
  const { stdout, stderr } = one.run(loading(entry), system)
  assert.equal(stderr, '')
  return JSON.parse(stdout)
}

test('C75 local processes of other systems: the entry says at load what to use instead, addon or not', () => {
  const without = outcome(fresh(), 'local.js', 'win32-x64')
  const one = fresh().copy('npm/win32-x64/dsh-subprocess-native.win32-x64-msvc.node', OWN_ADDON)
  for (const text of [without, outcome(one, 'local.js', 'win32-x64')]) {
    assert.match(text, /local runs on Linux and macOS, not on win32: use @deepseek-ai\/dsh-subprocess-local here, or dsh-subprocess-native/)
  }
  assert.throws(() => requirePlatform('freebsd'), /not on freebsd/)
  for (const system of ['linux', 'darwin']) requirePlatform(system)
})

test('the entries that drive sandboxes load on Windows and macOS with the addon for them', () => {
  for (const [system, name] of [['win32-x64', 'win32-x64-msvc'], ['win32-arm64', 'win32-arm64-msvc'], ['darwin-arm64', 'darwin-arm64']]) {
    const one = fresh().copy(`npm/${system}/dsh-subprocess-native.${name}.node`, OWN_ADDON)
    for (const entry of ['index.js', 'e2b.js']) assert.ok(outcome(one, entry, system).includes('default'), `${entry} on ${system}`)
  }
})

test('without an addon for this system the error says where it was looked for and what to do', () => {
  const text = outcome(fresh(), 'index.js', 'win32-x64')
  assert.match(text, /no addon for win32-x64-msvc that loads/)
  assert.match(text, /npm[\\/]win32-x64[\\/]dsh-subprocess-native\.win32-x64-msvc\.node does not exist/)
  assert.match(text, /dsh-subprocess-native-win32-x64-msvc: Cannot find module/)
  assert.match(text, /npm run build/)
})

test('the addon is taken from the package for this system where the main package has none', () => {
  const one = fresh()
  const name = `dsh-subprocess-native-${platform()}`
  // In a folder above, where a package manager may put it as well.
  one.put(`lib/node_modules/${name}/package.json`, JSON.stringify({ name, main: 'addon.node' })).copy(`lib/node_modules/${name}/addon.node`, OWN_ADDON)
  assert.ok(outcome(one, 'index.js').includes('default'))
})

test('supervisors of both architectures are found in the package, whatever the host is', () => {
  const list = `import { packedSupervisors } from './lib/load.js'\nconsole.log(JSON.stringify(packedSupervisors()))`
  const one = fresh()
  assert.deepEqual(JSON.parse(one.run(list).stdout), [])
  one.put('npm/supervisor/linux-arm64.gz', 'x').put('npm/supervisor/linux-arm64.json', JSON.stringify({ sha256: 'a', size: 1 }))
  for (const system of [undefined, 'win32-x64', 'darwin-arm64']) {
    const [arm, ...others] = JSON.parse(one.run(list, system).stdout)
    assert.deepEqual({ ...arm, path: undefined }, { architecture: 'aarch64', path: undefined, sha256: 'a', size: 1 })
    assert.match(arm.path, /linux-arm64\.gz$/)
    assert.deepEqual(others, [])
  }
  one.put('npm/supervisor/linux-x64.gz', 'x').put('npm/supervisor/linux-x64.json', JSON.stringify({ sha256: 'b', size: 2 }))
  assert.deepEqual(JSON.parse(one.run(list).stdout).map(({ architecture }) => architecture), ['x86_64', 'aarch64'])
})
