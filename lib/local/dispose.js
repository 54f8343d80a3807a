/**
 * The end of the service: every program is ended and waited for.
 * @module dsh-subprocess-native/lib/local/dispose
 */
import { throwAll } from '../errors.js'

/**
 * Ends everything. No step is left out because another failed.
 * @param {object} service with `native`, `live` and `terminals`
 */
export async function disposeAll({ native, live, terminals }) {
  const outcomes = await Promise.allSettled([...live, ...terminals].map(thing => thing.end()))
  const failures = outcomes.flatMap(({ status, reason }) => status === 'rejected' ? [reason] : [])
  if (failures.length > 0) native.killAll()
  live.clear()
  terminals.clear()
  throwAll(failures, 'local subprocess teardown failed')
}
