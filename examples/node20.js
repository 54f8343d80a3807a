/**
 * The original TypeScript packages use `Promise.withResolvers`, which Node has from 22 on. With it they also run
 * on Node 20, so that both providers can be compared there. Ours does not need it.
 * @module examples/node20
 */
Promise.withResolvers ??= function withResolvers() {
  let resolve, reject
  const promise = new this((yes, no) => { resolve = yes; reject = no })
  return { promise, resolve, reject }
}
