/**
 * A real language server (typescript-language-server) over the harness' `lsp-stdio`.
 * @module examples/compositions/language-server
 */
import assert from 'node:assert/strict'
import { LspConnection, MessageDecoder } from '@deepseek-ai/dsh-lsp-stdio'
import { packed } from './language-server-files.js'
import { STEP_MS, until, within } from './world.js'

const ROW = 'include:language-server'
const MIB = 1024 * 1024

const query = (world, operation, name, line, character) =>
  within(world.ctx.lsp.query({ operation, filePath: `${world.cwd}/${name}`, position: { line, character }, workspaceRoot: world.cwd }), STEP_MS, operation)

/** Servers by their command lines; not the shell that asks, whose own line holds theirs. */
const pattern = world => `^([^ ]*/)?node ${world.cwd}/.tools/typescript-language-server/`
const servers = async world => Number(await world.sh(`pgrep -fc "${pattern(world)}" || true`))
const signalServers = (world, signal) => world.sh(`pkill -${signal} -f "${pattern(world)}"`)

/** A server of its own by the client's own connection, as an editor uses one, with all that it says kept. */
async function connected(world) {
  const { command, args, initializationOptions } = world.ctx.loader.resolve(ROW).options.config.servers.typescript
  const said = []
  let handle
  const spawner = spec => {
    handle = world.ctx.subprocess.spawn(spec)
    const decoder = new MessageDecoder(64 * MIB)
    handle.stdout.on('data', chunk => said.push(...decoder.push(chunk)))
    return handle
  }
  const spec = { command, args, cwd: world.cwd, env: {}, maxMessageBytes: 64 * MIB, maxStderrBytes: MIB, killGraceMs: 1000 }
  const connection = new LspConnection(spec, spawner, async () => null)
  const rootUri = `file://${world.cwd}`
  const capabilities = { textDocument: { publishDiagnostics: {} } }
  await within(connection.request('initialize', { processId: null, rootUri, capabilities, initializationOptions }), STEP_MS, 'the handshake')
  await connection.notify('initialized', {})
  const open = (name, text) => connection.notify('textDocument/didOpen', { textDocument: { uri: `${rootUri}/${name}`, languageId: 'typescript', version: 1, text } })
  return { connection, handle, said, open, uri: name => `${rootUri}/${name}` }
}

export const languageServer = {
  name: 'language-server',
  title: 'a real language server over `lsp-stdio`',
  file: 'language-server.cordis.yml',
  steps: {
    async 'a server is put into the sandbox, and the client finds it there'(world) {
      await world.deliver(await packed(), `${world.cwd}/server.tar.gz`)
      await world.sh('mkdir .tools && tar -xzf server.tar.gz -C .tools')
      await world.sh(`printf '{"compilerOptions":{"strict":true,"lib":["es5"],"types":[],"noEmit":true},"files":["a.ts","b.ts","big.ts"]}' > tsconfig.json`)
      await world.sh(`printf 'export const answer: number = 42\\n' > a.ts`)
      await world.sh(`printf 'import { answer } from "./a"\\nexport const twice = answer * 2\\n' > b.ts`)
      await world.sh('printf "export {}\\n" > big.ts')
      await world.ctx.loader.update(ROW, { disabled: null })
      await within(world.ctx.loader.await(), STEP_MS, 'the client')
      assert.equal(world.ctx.loader.resolve(ROW).fiber?.state, 2, 'the client is active')
    },

    async 'it finds what a name is, where it is defined and where it is used'(world) {
      const { hover } = await query(world, 'hover', 'b.ts', 1, 14)
      assert.match(hover.contents, /const twice: number/)
      const { locations: [definition] } = await query(world, 'goToDefinition', 'b.ts', 1, 23)
      assert.equal(definition.uri, `file://${world.cwd}/a.ts`)
      const { locations } = await query(world, 'findReferences', 'a.ts', 0, 14)
      assert.deepEqual(locations.map(({ uri }) => uri.slice(-4)).sort(), ['a.ts', 'b.ts', 'b.ts'])
    },

    async 'it tells what is wrong with a document, and leaves when it is asked to'(world) {
      const { connection, handle, said, open, uri } = await connected(world)
      await open('wrong.ts', 'export const n: number = "text"\n')
      const told = () => said.find(({ method, params }) => method === 'textDocument/publishDiagnostics' && params.uri === uri('wrong.ts') && params.diagnostics.length > 0)
      const { params } = await until(told, 'the diagnostics')
      assert.match(params.diagnostics[0].message, /not assignable to type 'number'/)
      await within(connection.request('shutdown'), STEP_MS, 'the shutdown')
      await connection.notify('exit')
      assert.deepEqual(await within(handle.done, STEP_MS, 'the exit'), { exitCode: 0, signal: null })
      assert.equal(await within(handle.waitForExit(), STEP_MS, 'the end of its tree'), true)
    },

    async 'ten megabytes of JSON-RPC go up and ten come back'(world) {
      // A comment makes the document long, and 90,000 uses of one name make the answer long.
      await world.sh(`awk 'BEGIN { printf "export let n = 1\\n"; for (i = 0; i < 90000; i++) print "n;"; print "/*"; for (i = 0; i < 110000; i++) printf "%s\\n", "${'x'.repeat(99)}"; print "*/" }' > big.ts`)
      assert.ok(Number(await world.sh('wc -c < big.ts')) > 10 * MIB)
      const { locations } = await query(world, 'findReferences', 'big.ts', 0, 11)
      assert.equal(locations.length, 90_001)
      assert.deepEqual(locations.at(-1).range.start, { line: 90_000, character: 0 })
      assert.ok(JSON.stringify(locations).length > 10 * MIB)
    },

    async 'a server that is killed in mid-request fails that request'(world) {
      const { connection, handle, open, uri } = await connected(world)
      await open('a.ts', 'export const answer = 42\n')
      // Stopped, it can't answer before it is killed.
      await signalServers(world, 'STOP')
      const asked = connection.request('textDocument/hover', { textDocument: { uri: uri('a.ts') }, position: { line: 0, character: 13 } })
      await signalServers(world, 'KILL')
      await assert.rejects(within(asked, STEP_MS, 'the request'), /language server exited|EPIPE/)
      assert.deepEqual(await handle.done, { exitCode: null, signal: 'SIGKILL' })
      connection.terminate()
      assert.equal(await within(handle.waitForExit(), STEP_MS, 'the end of its tree'), true)
    },

    async 'and the client starts another for the next one'(world) {
      const { hover } = await query(world, 'hover', 'b.ts', 1, 14)
      assert.match(hover.contents, /const twice: number/)
      assert.equal(await servers(world), 1)
    },

    async 'nothing of it is left when the client is unloaded'(world) {
      await world.ctx.loader.update(ROW, { disabled: true })
      await until(async () => await servers(world) === 0, 'the end of the servers')
      assert.equal(await world.sh('pgrep -fc "^([^ ]*/)?node .*/tsserver.js" || true'), '0\n')
    },
  },
}
