import type { Socket } from 'node:net'
import type { Recorded } from '../exchange/recorded.ts'
import { reasonOf } from '../wire/http1/reasons.ts'

const BUSY = `HTTP/1.1 503 ${reasonOf(503)}\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n`
/** Max number of clients that receive the response at once; descriptors are reserved for them. */
const MAX_SOCKETS = 16
/** Max milliseconds that a client may take to receive it. */
const MAX_LENGTH = 500

/** HTTP clients over the connection limit: they receive 503, as far as there is room for that. */
export class RejectedSockets {
  #count = 0

  report(socket: Socket, _: Recorded, id: string): void {
    if (this.#count >= MAX_SOCKETS) {
      socket.destroy()
      return
    }
    this.#count++
    const timer = setTimeout(() => socket.destroy(), MAX_LENGTH)
    socket.on('close', () => {
      clearTimeout(timer)
      this.#count--
    })
    // Input is read: closing with unread bytes would discard the response.
    socket.resume()
    socket.end(`${BUSY}x-request-id: ${id}\r\n\r\n`, 'latin1')
  }
}
