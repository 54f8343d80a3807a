/**
 * Loads a composition file through the real Cordis loader.
 *
 * What a harness' own boot does, cut down to what the examples, the demo, the bench and the tests need:
 * no profiles, no watching, no surfaces.
 * @module examples/boot
 */
import './node20.js'
import { Context } from '@deepseek-ai/cordis'
import Include from '@deepseek-ai/cordis-plugin-include'
import Loader from '@deepseek-ai/cordis-plugin-loader'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Fiber states of Cordis, whose enum exists only at compile time. */
const ACTIVE = 2

/**
 * Bare plugin names resolve from this package, so that `dsh-subprocess-native` is this checkout (a package
 * may import itself by name) and the peers are its development dependencies.
 * @param {string} [base] URL that relative names are resolved against, where that isn't the composition's own
 */
function hostResolved(base) {
  return class HostResolvedInclude extends Include {
    import(name, getOuterStack) {
      if (!name.startsWith('.')) return import(name)
      return base === undefined ? super.import(name, getOuterStack) : import(new URL(name, base).href)
    }

    /** A run changes rows (patches, disposal); the file that others read stays as it was written. */
    async writeFile() {}
  }
}

/**
 * Boots the composition in `file` and waits until every entry is active.
 * @param {string} file path of a YAML or JSON entry list
 * @param {object[]} [patches] loader patches over it, e.g. `[{ id: 'e2b', config: { cwd } }]`
 * @param {{ base?: string }} [options] `base`: URL that relative names are resolved against; default: the file's own
 * @returns {Promise<Context>} the root context; `dispose(ctx)` ends it
 * @throws when an entry cannot be loaded, fails or waits for a service; the partial tree is disposed first
 */
export async function boot(file, patches = [], { base } = {}) {
  const ctx = new Context()
  try {
    ctx.baseUrl = new URL('.', pathToFileURL(resolve(file))).href
    await ctx.plugin(Loader)
    ctx.loader.builtins.include = hostResolved(base)
    await ctx.loader.create({
      id: 'include',
      name: 'cordis:include',
      config: { path: pathToFileURL(resolve(file)).href, patches },
    })
    await ctx.loader.await()
    await assertActive(ctx)
    return ctx
  } catch (cause) {
    await ctx.fiber.dispose()
    throw cause
  }
}

/**
 * Tears a booted composition down: every plugin's own disposal is awaited.
 * @param {Context} ctx what `boot` returned
 */
export async function dispose(ctx) {
  await ctx.fiber.dispose()
}

/** A loader settles even when an entry did not start; say which and why. */
async function assertActive(ctx) {
  for (const entry of ctx.loader.entries()) {
    if (entry.disabled) continue
    if (entry.fiber === undefined) throw new Error(`${entry.options.name}: could not be loaded`)
    if (entry.fiber.state === ACTIVE) continue
    await entry.fiber.await()
    const waiting = Object.keys(entry.fiber.inject).filter(name => entry.fiber.ctx.get(name) === undefined)
    throw new Error(`${entry.options.name}: not active, waits for ${waiting.join(', ') || 'nothing known'}`)
  }
}
