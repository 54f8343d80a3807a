/**
 * What the project is built for: the one table of systems and processors.
 * @module scripts/targets
 */

/**
 * The addon's, one npm package each: `name` is what `lib/load.js` looks for, `os`, `cpu` and `libc` are npm's words, `target` is
 * rustc's. `checked` is another target that says the same of the code where the first can't be checked without its vendor's files.
 */
export const ADDONS = [
  { name: 'linux-x64-gnu', os: 'linux', cpu: 'x64', libc: 'glibc', target: 'x86_64-unknown-linux-gnu' },
  { name: 'linux-arm64-gnu', os: 'linux', cpu: 'arm64', libc: 'glibc', target: 'aarch64-unknown-linux-gnu' },
  { name: 'darwin-arm64', os: 'darwin', cpu: 'arm64', target: 'aarch64-apple-darwin' },
  { name: 'win32-x64-msvc', os: 'win32', cpu: 'x64', target: 'x86_64-pc-windows-msvc', checked: 'x86_64-pc-windows-gnu' },
]

/** The supervisor's, by Node's word for the processor: all of them go into the main package, since any host drives any sandbox. */
export const SUPERVISORS = { x64: 'x86_64', arm64: 'aarch64' }

/** The crates that are written for a system, besides those that all share. */
export const CRATES = {
  linux: ['dsh-subprocess-native', 'envd-api', 'process', 'protocol', 'sandboxd', 'supervisor'],
  darwin: ['dsh-subprocess-native', 'envd-api', 'process', 'protocol'],
  win32: ['dsh-subprocess-native', 'envd-api', 'protocol'],
}
