import type { Socket } from 'node:net'
import type { Timed } from '../deadlines.ts'

/** Milliseconds that an idle connection has left once it is unwanted. */
export const CLOSE_GRACE_MS = 200
/**
 * Milliseconds that a client which closed its side is waited on for, until its response goes on: it
 * may be gone altogether, and it may have said all that it had to say, which looks the same.
 */
export const HALF_CLOSED = 1_000
/** The same for one that is over. */
const LINGER = 2_000

/**
 * Says goodbye, and stays for a moment so that a reset does not take the response back. What the
 * client has not taken yet of the response has its own time first, `writeTimeout`.
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

/** To end it twice makes an error with a stack trace, which nobody reads. */
export function endOnce(socket: Socket): void {
  if (!socket.writableEnded) socket.end()
}
