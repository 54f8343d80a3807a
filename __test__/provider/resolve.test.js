import assert from 'node:assert/strict'
import { test } from 'node:test'
import { useWorld } from './support.js'

const world = useWorld()
const resolve = (...args) => world.subprocess.resolveExecutable(...args)

test('C40 a bare name is found along the path that is given, else the ambient one', async () => {
  assert.match(await resolve('sh'), /^\/(usr\/)?bin\/sh$/)
  assert.equal(await resolve('sh', { PATH: '/nowhere:/bin' }), '/bin/sh')
  assert.equal(await resolve('/bin/sh'), '/bin/sh')
})

test('C40 relative entries of the path are relative to the shared directory', async () => {
  await world.sh('mkdir -p tools && cp /bin/true tools/own-tool')
  assert.equal(await resolve('own-tool', { PATH: 'tools' }), `${world.cwd}/tools/own-tool`)
})

test('D12 what means nothing is refused, what is not there is named', async () => {
  await assert.rejects(resolve(''), /must be non-empty/)
  await assert.rejects(resolve('a/b'), /"a\/b" is a relative path/)
  await assert.rejects(resolve('no-such-tool'), /"no-such-tool" was not found on PATH/)
  await assert.rejects(resolve('sh', { PATH: '' }), /was not found on PATH/)
  await assert.rejects(resolve('/etc/passwd'), /is not an executable file/)
  await assert.rejects(resolve('/bin'), /is not an executable file/)
})

test('D12 an abort rejects with its reason, be it a string', async () => {
  await assert.rejects(resolve('sh', undefined, AbortSignal.abort('before')), reason => reason === 'before')
  const controller = new AbortController()
  const pending = resolve('sh', undefined, controller.signal)
  controller.abort('meanwhile')
  await assert.rejects(pending, reason => reason === 'meanwhile')
})
