// HOT PATH: how long a client is waited for, looked at for each request. Guarded by bench/proxy.ts.

import type { Socket } from 'node:net'
import { HALF_CLOSED, PARTING } from './parting.ts'
import type { ServerLimits } from './server-limits.ts'

/*
 * Milliseconds. An answer that the client has not taken yet comes first, whatever else is due: it
 * has that time for some of it.
 */

/** In an exchange; Infinity where it is `isOurTurn`, since the upstream has its own deadlines. */
export function patienceInExchange(
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
export function patienceBetween(
  { idle, writeTimeout }: ServerLimits,
  socket: Socket,
  isDraining: boolean,
): number {
  if (socket.writableNeedDrain) return writeTimeout
  return isDraining ? PARTING : idle
}
