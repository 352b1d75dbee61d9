import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../wire/deadlines.ts'

/** Why what had to come first never came whole. */
export type PreludeEnd = 'timeout' | 'closed'

/** Undefined: not enough yet. Otherwise how many octets were read, and what to go on with. */
export type ReadPrelude = (bytes: Buffer) => { readonly consumed: number; next(): void } | undefined

/**
 * Reads what stands before the protocol itself (a PROXY header, a ClientHello, a preface), then
 * gives the socket back, paused, with the octets that were not consumed before all others.
 */
export class Prelude implements Timed {
  deadline: number
  readonly #socket: Socket
  readonly #deadlines: Deadlines
  readonly #read: ReadPrelude
  readonly #failed: (reason: PreludeEnd) => void
  #held: Buffer | undefined = undefined

  constructor(
    socket: Socket,
    timeout: number,
    deadlines: Deadlines,
    read: ReadPrelude,
    failed: (reason: PreludeEnd) => void,
  ) {
    this.#socket = socket
    this.#deadlines = deadlines
    this.#read = read
    this.#failed = failed
    this.deadline = performance.now() + timeout
    deadlines.add(this)
    socket.on('data', this.#receive)
    socket.on('end', this.#closed)
    socket.on('close', this.#closed)
    socket.resume()
  }

  expire(): void {
    this.#stop()
    this.#failed('timeout')
  }

  readonly #receive = (bytes: Buffer): void => {
    const all = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
    const found = this.#read(all)
    if (found === undefined) {
      this.#held = all
      return
    }
    this.#stop()
    this.#socket.pause()
    if (found.consumed < all.length) this.#socket.unshift(all.subarray(found.consumed))
    found.next()
  }

  readonly #closed = (): void => {
    this.#stop()
    this.#failed('closed')
  }

  #stop(): void {
    this.#held = undefined
    this.#deadlines.remove(this)
    this.#socket.off('data', this.#receive)
    this.#socket.off('end', this.#closed)
    this.#socket.off('close', this.#closed)
  }
}
