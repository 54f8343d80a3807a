/**
 * Breaking a connection as a lost peer does.
 * @module test/support/reset
 */

/**
 * Closes a socket by RST where it still may. Node 20 never frees one that is reset behind its `end()` (libuv refuses, and the wrap
 * believes that it is closing): the process then spins for ever at its exit.
 * @param {import('node:net').Socket} socket
 */
export function reset(socket) {
  if (socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}
