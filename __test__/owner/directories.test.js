import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as sdk from 'e2b'
import { isComplete, load, openControl, sandboxOf, useServer, withEnvironment } from './support.js'

const server = await useServer()
const complete = isComplete(server)
// One of its own: servers may share a file system.
const CWD = `/home/user/directories-${process.pid}`
const ROOT = `${CWD}/.dsh-e2b`

/**
 * Loads an owner whose sandbox comes with something in it already, as a template may.
 * @param {string} plant shell commands in a fresh place, run as root before the owner hears of the sandbox
 */
async function planted(plant, config, body) {
  let sandboxId
  const control = await openControl(server.apiUrl, async ({ route }, forward) => {
    const answer = await forward()
    if (route !== 'POST /sandboxes') return answer
    const sandbox = sandboxOf(answer)
    sandboxId = sandbox.sandboxId
    await sandbox.commands.run(`rm -rf ${CWD} /tmp/elsewhere; ${plant}`, { user: 'root' })
    return answer
  })
  await withEnvironment({ E2B_API_URL: control.url }, async () => {
    const { owner, errors, dispose } = await load({ cwd: CWD, ...config })
    await body({ owner, control, sandboxId: () => sandboxId })
    await dispose()
    assert.deepEqual(errors, [])
  })
}

const kills = control => control.routes.filter(route => route.startsWith('DELETE')).length

for (const [what, plant] of [
  ['a link to a directory', `mkdir -p ${CWD} /tmp/elsewhere && ln -s /tmp/elsewhere ${ROOT}`],
  ['a link to nothing', `mkdir -p ${CWD} && ln -s /tmp/nothing ${ROOT}`],
  ['a file', `mkdir -p ${CWD} && touch ${ROOT}`],
]) {
  test(`C61 ${what} planted at the runtime root is refused, and the sandbox is killed once`, () => planted(plant, {}, async ({ owner, control, sandboxId }) => {
    await assert.rejects(owner.getSandbox(), error => error.message === `dsh-e2b: runtime root must be a real directory: ${ROOT}` && error.code === 'ERR_E2B_RUNTIME_ROOT')
    assert.equal(kills(control), 1)
    await assert.rejects(sdk.Sandbox.getInfo(sandboxId()), sdk.SandboxNotFoundError)
  }))
}

test('C61 the setup failure is kept when the kill after it fails, and the kill is not tried again', async () => {
  let control
  const meddle = async ({ route }, forward) => {
    if (route.startsWith('DELETE')) return undefined
    const answer = await forward()
    if (route === 'POST /sandboxes') await sandboxOf(answer).commands.run(`rm -rf ${CWD}; mkdir -p ${CWD} && touch ${ROOT}`, { user: 'root' })
    return answer
  }
  control = await openControl(server.apiUrl, meddle)
  await withEnvironment({ E2B_API_URL: control.url }, async () => {
    const { owner, errors, dispose } = await load({ cwd: CWD })
    await assert.rejects(owner.getSandbox(), { code: 'ERR_E2B_RUNTIME_ROOT' })
    await dispose()
    assert.deepEqual(errors, [])
    assert.equal(kills(control), 1)
  })
})

test('C61 a runtime root that others could enter is closed', () =>
  planted(`mkdir -p ${ROOT} && chmod 755 ${ROOT} && chown -R user: ${CWD}`, {}, async ({ owner }) => {
    const sandbox = await owner.getSandbox()
    assert.equal((await sandbox.commands.run(`stat -c %a ${ROOT}`)).stdout, '700\n')
  }))

test('C61 a directory that only root may make is made and given to the sandbox user', () =>
  planted('true', { cwd: '/srv/project/deep' }, async ({ owner }) => {
    const sandbox = await owner.getSandbox()
    const { stdout } = await sandbox.commands.run('stat -c "%a %U" /srv/project/deep /srv/project/deep/.dsh-e2b')
    assert.equal(stdout, '755 user\n700 user\n')
  }))

test('C61 a runtime root of another user is refused with what the sandbox said', () =>
  planted(`mkdir -p ${ROOT} && chown -R root: ${ROOT}`, {}, async ({ owner, control }) => {
    await assert.rejects(owner.getSandbox(), error => error.code === 'ERR_E2B_DIRECTORIES' && /cannot be made private: .*chmod/.test(error.message))
    assert.equal(kills(control), 1)
  }))

test('C61 a file in the place of the shared directory is refused', () =>
  planted(`touch ${CWD}`, {}, async ({ owner, control }) => {
    await assert.rejects(owner.getSandbox(), error => error.code === 'ERR_E2B_DIRECTORIES' && error instanceof sdk.SandboxError)
    assert.equal(kills(control), 1)
  }))

test('a path with spaces, quotes and a leading dash is taken as it is', () =>
  planted('true', { cwd: `/home/user/-a 'b' "$HOME"/c` }, async ({ owner }) => {
    const sandbox = await owner.getSandbox()
    assert.equal((await sandbox.files.getInfo(owner.runtimeRoot)).type, sdk.FileType.DIR)
  }))

test('a sandbox that is not ours is left alive and alone when its directories are refused', { skip: !complete && 'the server joins none' }, async () => {
  const existing = await sdk.Sandbox.create()
  await existing.commands.run(`mkdir -p ${CWD} /tmp/elsewhere && chmod 755 /tmp/elsewhere && ln -s /tmp/elsewhere ${ROOT}`)
  const { owner, errors, dispose } = await load({ cwd: CWD, sandboxId: existing.sandboxId })
  await assert.rejects(owner.getSandbox(), { code: 'ERR_E2B_RUNTIME_ROOT' })
  await dispose()
  assert.deepEqual(errors, [])
  assert.equal((await existing.commands.run('stat -c %a /tmp/elsewhere')).stdout, '755\n')
  await existing.kill()
})
