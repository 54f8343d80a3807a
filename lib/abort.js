/**
 * Listening to a caller's abort signal. A harness gives one signal to everything that a turn starts, and Node warns of a leak when an
 * eleventh listener comes: so all of ours share one on each signal.
 * @module dsh-subprocess-native/lib/abort
 */

/** Who of ours listens, by signal. */
const groups = new WeakMap()

/**
 * Calls `listener` once when the signal fires.
 * @param {AbortSignal | undefined} signal what can't be listened to never fires
 * @param {() => void} listener must not throw
 * @returns {() => void} stops listening; may be called again
 */
export function onAbort(signal, listener) {
  if (typeof signal?.addEventListener !== 'function') return () => {}
  const group = groups.get(signal) ?? open(signal)
  group.listeners.add(listener)
  return () => {
    group.listeners.delete(listener)
    if (group.listeners.size === 0) group.close()
  }
}

function open(signal) {
  const listeners = new Set()
  const fire = () => {
    groups.delete(signal)
    for (const listener of [...listeners]) listener()
  }
  const close = () => {
    if (groups.get(signal) === group) groups.delete(signal)
    signal.removeEventListener('abort', fire)
  }
  const group = { listeners, close }
  groups.set(signal, group)
  signal.addEventListener('abort', fire, { once: true })
  return group
}
