import type { Socket } from 'node:net'
import type { Timed } from '../deadlines.ts'

/** Milliseconds until the gateway closes an idle connection that is being drained. */
export const CLOSE_GRACE_MS = 200
/**
 * Milliseconds that the gateway waits for a response to make progress after the client closed its
 * side: the client may be gone, or it may only have finished sending, which looks the same.
 */
export const HALF_CLOSED = 1_000
/** Milliseconds that the gateway waits for the client after the last response. */
const LINGER = 2_000

/**
 * Closes its side and lingers briefly, so that a reset does not discard the response. If part of
 * the response is still unsent, the client has `writeTimeout` for that first.
 */
export function closeGracefully(
  socket: Socket,
  timed: Timed,
  writeTimeout: number,
  isFlushed: boolean = socket.writableLength === 0,
): void {
  if (!isFlushed) {
    socket.once('finish', () => {
      timed.deadline = Math.min(timed.deadline, performance.now() + LINGER)
    })
  }
  socket.end()
  timed.deadline = performance.now() + (isFlushed ? LINGER : writeTimeout)
}

/** Ending a socket twice creates an error with a stack trace, which is wasted. */
export function endOnce(socket: Socket): void {
  if (!socket.writableEnded) socket.end()
}
