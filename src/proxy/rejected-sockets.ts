import type { Socket } from 'node:net'
import { reasonOf } from '../wire/http1/reasons.ts'

const BUSY = `HTTP/1.1 503 ${reasonOf(503)}\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`
/** Clients that are told at the same time; there are descriptors in reserve for them. */
const MAX_SOCKETS = 16
/** Milliseconds that one may take to hear it. */
const LONGEST = 500

/** Clients of HTTP that came when there were too many: told so, as far as there is room for that. */
export class TurnedAway {
  #count = 0

  report(socket: Socket): void {
    if (this.#count >= MAX_SOCKETS) {
      socket.destroy()
      return
    }
    this.#count++
    const timer = setTimeout(() => socket.destroy(), LONGEST)
    socket.on('close', () => {
      clearTimeout(timer)
      this.#count--
    })
    // What it sends is taken: closing with bytes unread would take the response back.
    socket.resume()
    socket.end(BUSY, 'latin1')
  }
}
