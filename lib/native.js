/**
 * The addon, loaded once in each JavaScript environment, and the one call that it makes back.
 * @module dsh-subprocess-native/lib/native
 */
import { AsyncResource } from 'node:async_hooks'
import { onAbort } from './abort.js'
import { loadAddon } from './load.js'

const addon = loadAddon()

if (process.env.DSH_SUBPROCESS_LOG) addon.startLog(process.env.DSH_SUBPROCESS_LOG)

/** What changed about a handle, as the addon's `wake.rs` numbers it. */
export const PID = 1
export const STDOUT = 2
export const STDERR = 4
export const STDIN = 8
export const OUTCOME = 16
export const TREE = 32
export const ANSWER = 64

export const { NativeLocal, NativeOwner, NativeService } = addon

/** Handles that wait for changes, by their id. */
const listeners = new Map()

/** Wakes this environment; see `waker.rs`. */
export const waker = new addon.Waker(changes => {
  for (let at = 0; at < changes.length; at += 2) apart(listeners.get(changes[at]), changes[at + 1])
  waker.hold()
})

/**
 * Does something of which a caller's own listeners may be part. What they throw is the program's to catch, as ever, but keeps nobody else
 * from their news.
 * @param {((argument?: any) => void) | undefined} step
 * @param {any} [argument]
 */
export function apart(step, argument) {
  try {
    step?.(argument)
  } catch (error) {
    process.nextTick(() => { throw error })
  }
}

/**
 * Hears what changes about a handle, until {@link forget}.
 * @param {number} id
 * @param {(changed: number) => void} listener runs in the asynchronous context of this call
 */
export function listen(id, listener) {
  const scope = new AsyncResource('SUBPROCESS', { requireManualDestroy: true })
  listeners.set(id, changed => scope.runInAsyncScope(listener, undefined, changed))
  // There is something to wait for now: the program must not exit before it came.
  waker.hold()
}

/**
 * Nothing more will be heard of a handle.
 * @param {number} id
 */
export function forget(id) {
  listeners.delete(id)
}

/**
 * Waits for a question's answer.
 * @param {object} request a NativeRequest
 * @param {AbortSignal} [signal] gives up waiting, with its reason
 * @returns {Promise<object>} the answer, of which `error` may be set
 */
export function answered(request, signal) {
  return new Promise((resolve, reject) => {
    const end = () => {
      forget(request.id)
      stopListening()
    }
    const onAnswer = () => {
      const answer = request.take()
      if (answer === null) return
      end()
      resolve(answer)
    }
    const giveUp = () => {
      request.cancel()
      end()
      waker.hold()
      reject(signal.reason)
    }
    const stopListening = onAbort(signal, giveUp)
    listen(request.id, onAnswer)
    if (signal?.aborted) giveUp()
    else onAnswer()
  })
}

/**
 * Waits for the announcement of an answer. The question must have been asked just now; what came before the answer is announced
 * no later than it, which {@link answered} does not promise: it takes what is there.
 * @param {object} request a NativeRequest
 * @returns {Promise<object>} the answer, of which `error` may be set
 */
export function announced(request) {
  return new Promise(resolve => {
    listen(request.id, () => {
      const answer = request.take()
      if (answer === null) return
      forget(request.id)
      resolve(answer)
    })
  })
}
