import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until, within } from '../support/deadline.js'
import { load, openControl, PATIENCE_MS, refusal, useServer, withEnvironment } from './support.js'

const server = await useServer()
const HOLD = Symbol.for('dsh-subprocess-native.hold')

/** A door that requests wait at. */
function gate() {
  let open
  let reach
  const opened = new Promise(resolve => { open = resolve })
  const reached = new Promise(resolve => { reach = resolve })
  return { open, reached, pass: () => (reach(), opened) }
}

/** A rejection that is looked at later. */
function heard(promise) {
  promise.catch(() => {})
  return promise
}

/** Loads an owner over a control plane; afterwards none of its sandboxes may be left. */
async function scene(meddle, body) {
  const control = await openControl(server.apiUrl, meddle)
  await withEnvironment({ E2B_API_URL: control.url }, async () => {
    const loaded = await load()
    await body({ ...loaded, control })
    assert.deepEqual(loaded.errors, [])
  })
  assert.deepEqual([...control.lives], [], 'no sandbox is left')
}

const deletes = control => control.routes.filter(route => route.startsWith('DELETE')).length
const pass = (_request, forward) => forward()

test('C61 disposal straight after the load waits for the create and kills what it made', () => scene(pass, async ({ owner, dispose, control }) => {
  const waiting = heard(owner.getSandbox())
  await dispose()
  await assert.rejects(waiting, /disposing/)
  assert.equal(deletes(control), 1)
}))

test('C61 disposal while the create is under way waits for it, and who waits for the sandbox is told', async () => {
  const door = gate()
  const meddle = async ({ route }, forward) => {
    const answer = await forward()
    if (route === 'POST /sandboxes') await door.pass()
    return answer
  }
  await scene(meddle, async ({ owner, dispose, control }) => {
    const waiting = heard(owner.getSandbox())
    await door.reached
    const disposing = dispose()
    await until(() => owner.disposed, PATIENCE_MS, 'the disposal to begin')
    await assert.rejects(owner.getSandbox(), /disposing/)
    assert.equal(deletes(control), 0)
    door.open()
    await assert.rejects(waiting, /disposing/)
    await disposing
    assert.equal(deletes(control), 1)
  })
})

test('C61 disposal between a refusal and the next attempt makes no sandbox', async () => {
  const door = gate()
  const meddle = async ({ route }, forward) => {
    if (route !== 'POST /sandboxes') return forward()
    door.pass()
    return refusal(429, {}, { 'retry-after': '29' })
  }
  await scene(meddle, async ({ owner, dispose, control }) => {
    await door.reached
    await dispose()
    await assert.rejects(owner.getSandbox(), /disposing/)
    assert.deepEqual(control.routes, ['POST /sandboxes'])
  })
})

test('C61 disposal during the directories does not wait for them', { skip: server.kind !== 'sandboxd' }, async () => {
  const faults = (method, plan) => fetch(`${server.apiUrl}/_sandboxd/faults`, {
    method, headers: { 'X-API-KEY': server.apiKey, 'content-type': 'application/json' }, body: plan && JSON.stringify(plan),
  })
  const meddle = async ({ route }, forward) => {
    const answer = await forward()
    // Nothing comes back from the sandbox from now on.
    if (route === 'POST /sandboxes') await faults('PUT', { stall: 'down' })
    return answer
  }
  await scene(meddle, async ({ owner, dispose, control }) => {
    const waiting = heard(owner.getSandbox())
    await until(() => control.routes.length > 0, PATIENCE_MS, 'the create')
    await owner.opening.created
    await dispose()
    await faults('DELETE')
    await assert.rejects(waiting, /disposing/)
    assert.equal(deletes(control), 1)
  })
})

test('C61 disposal while a sandbox that could not be set up is killed does not kill it again', async () => {
  const door = gate()
  const meddle = async ({ route }, forward) => {
    if (route.startsWith('DELETE')) await door.pass()
    const answer = await forward()
    if (route !== 'POST /sandboxes') return answer
    const facts = JSON.parse(answer.body)
    return { ...answer, body: JSON.stringify({ ...facts, envdVersion: '0.0.9' }) }
  }
  await scene(meddle, async ({ owner, dispose, control }) => {
    const waiting = heard(owner.getSandbox())
    await door.reached
    const disposing = dispose()
    door.open()
    await disposing
    await assert.rejects(waiting, /disposing/)
    assert.equal(deletes(control), 1)
  })
})

test('C61 a daemon that is too old for every client is the SDK\'s TemplateError, and its sandbox is killed', async () => {
  const { TemplateError } = await import('e2b')
  const meddle = async ({ route }, forward) => {
    const answer = await forward()
    return route === 'POST /sandboxes' ? { ...answer, body: JSON.stringify({ ...JSON.parse(answer.body), envdVersion: '0.0.9' }) } : answer
  }
  await scene(meddle, async ({ owner, dispose, control }) => {
    await assert.rejects(owner.getSandbox(), TemplateError)
    assert.equal(deletes(control), 1)
    await dispose()
  })
})

test('C65 the owner kills only after the providers that are leaving have let go', () => scene(pass, async ({ owner, dispose, control }) => {
  await owner.getSandbox()
  let leaving = false
  const release = owner[HOLD]({ isBusy: () => false, isLeaving: () => leaving })
  const disposing = dispose()
  leaving = true
  // A whole exchange with the same control plane: a kill that was sent would have come before it ended.
  await owner.opening.extend()
  await owner.opening.extend()
  assert.equal(deletes(control), 0)
  release()
  release()
  await disposing
  assert.equal(deletes(control), 1)
}))

test('C65 a provider that is not leaving is not waited for', () => scene(pass, async ({ owner, dispose, control }) => {
  await owner.getSandbox()
  owner[HOLD]({ isBusy: () => false, isLeaving: () => false })
  await within(dispose(), 5000, 'the disposal')
  assert.equal(deletes(control), 1)
}))
