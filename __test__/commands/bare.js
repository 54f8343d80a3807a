/**
 * The provider under an owner of the test's own making: any object with `cwd`, `runtimeRoot` and `getSandbox`.
 * @module test/commands/bare
 */
import { Context } from '@deepseek-ai/cordis'
import { PATIENCE_MS, PROVIDER, World } from './world.js'
import { within } from '../support/deadline.js'

const { default: Provider } = PROVIDER === 'ts' ? await import('@deepseek-ai/dsh-subprocess-e2b') : await import('../../index.js')

/** The class that is tested. */
export { Provider }

/**
 * @param {import('../support/server.js').Server} server
 * @param {{ cwd?: string, runtimeRoot?: string, getSandbox: () => Promise<import('e2b').Sandbox> }} owner
 * @param {object} [config] of the provider
 * @returns {Promise<World & { dispose: () => Promise<void> }>} a world whose sandbox is the owner's
 */
export async function under(server, { cwd = '/home/user', runtimeRoot = `${cwd}/.dsh-e2b`, getSandbox }, config = {}) {
  const ctx = new Context()
  ctx.reflect.provide('e2b', { cwd, runtimeRoot, getSandbox })
  const fiber = await ctx.plugin(Provider, PROVIDER === 'native' ? config : {})
  const dispose = () => within(fiber.dispose(), 2 * PATIENCE_MS, 'disposal of the provider')
  const world = new World()
  world.server = server
  world.subprocess = ctx.subprocess
  world.composition = { ctx, cwd, subprocess: ctx.subprocess, sandbox: getSandbox, dispose }
  return Object.assign(world, { dispose })
}
