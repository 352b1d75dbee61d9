// HOT PATH: how long a client is waited for, looked at for each request. Guarded by bench/proxy.ts.

import type { Socket } from 'node:net'
import { CLOSE_GRACE_MS, HALF_CLOSED } from './close-grace.ts'
import type { ServerLimits } from './server-limits.ts'

/*
 * Milliseconds. A response that the client has not taken yet comes first, whatever else is due: it
 * has that time for some of it.
 */

/** In an exchange; Infinity where it is `isOurTurn`, since the upstream has its own deadlines. */
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
