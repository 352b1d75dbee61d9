// HOT PATH: timeouts for clients, computed for each request. Guarded by bench/proxy.ts.

import type { Socket } from 'node:net'
import { CLOSE_GRACE_MS, HALF_CLOSED } from './close-grace.ts'
import type { ServerLimits } from './server-limits.ts'

/*
 * In milliseconds. A pending response write takes precedence over all other timeouts: the client
 * has `writeTimeout` to accept some of it.
 */

/** During an exchange; Infinity if `isOurTurn`, since the upstream has its own deadlines. */
export function timeoutInExchange(
  { bodyTimeout, writeTimeout }: ServerLimits,
  socket: Socket,
  hasEnded: boolean,
  isOurTurn: boolean,
): number {
  if (socket.writableNeedDrain) return writeTimeout
  if (hasEnded) return HALF_CLOSED
  return isOurTurn ? Number.POSITIVE_INFINITY : bodyTimeout
}

/** Between two requests. */
export function idleTimeoutBetween(
  { idle, writeTimeout }: ServerLimits,
  socket: Socket,
  isDraining: boolean,
): number {
  if (socket.writableNeedDrain) return writeTimeout
  return isDraining ? CLOSE_GRACE_MS : idle
}
