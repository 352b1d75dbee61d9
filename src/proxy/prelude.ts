import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../wire/deadlines.ts'

/** Why the prelude was not complete. */
export type PreludeEnd = 'timeout' | 'closed'

/** How many bytes were consumed, and how to continue. */
export interface PreludeFound {
  readonly consumed: number
  next(): void
}

/** Undefined if more bytes are needed. The reader limits how many it requires. */
export type ReadPrelude = (bytes: Buffer) => PreludeFound | undefined

/**
 * Reads what precedes the protocol itself (a PROXY header, a ClientHello, a preface), then returns
 * the socket, paused, with the bytes that were not consumed before all others.
 */
export class Prelude implements Timed {
  deadline: number
  slot = -1
  readonly #socket: Socket
  readonly #deadlines: Deadlines
  readonly #read: ReadPrelude
  readonly #failed: (reason: PreludeEnd) => void
  readonly #broke: (error: unknown) => void
  #held: Buffer = NO_BYTES
  #length = 0

  constructor(
    socket: Socket,
    timeout: number,
    deadlines: Deadlines,
    read: ReadPrelude,
    failed: (reason: PreludeEnd) => void,
    broke: (error: unknown) => void = () => socket.destroy(),
  ) {
    this.#socket = socket
    this.#deadlines = deadlines
    this.#read = read
    this.#failed = failed
    this.#broke = broke
    this.deadline = performance.now() + timeout
    deadlines.add(this)
    socket.on('data', this.#receive)
    socket.on('end', this.#closed)
    socket.on('close', this.#closed)
    socket.resume()
  }

  expire(): void {
    this.#end('timeout')
  }

  readonly #receive = (bytes: Buffer): void => {
    try {
      this.#advance(bytes)
    } catch (error) {
      this.#stop()
      this.#broke(error)
    }
  }

  #advance(bytes: Buffer): void {
    const all = this.#length === 0 ? bytes : this.#append(bytes)
    const found = this.#read(all)
    if (found === undefined) {
      if (this.#length === 0) this.#append(bytes)
      return
    }
    this.#stop()
    this.#socket.pause()
    if (found.consumed < all.length) this.#socket.unshift(all.subarray(found.consumed))
    found.next()
  }

  /** Grows by doubling: a client that sends byte by byte must not cause a full copy each time. */
  #append(bytes: Buffer): Buffer {
    const length = this.#length + bytes.length
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(512, length, this.#held.length * 2))
      this.#held.copy(larger, 0, 0, this.#length)
      this.#held = larger
    }
    bytes.copy(this.#held, this.#length)
    this.#length = length
    return this.#held.subarray(0, length)
  }

  readonly #closed = (): void => this.#end('closed')

  #end(reason: PreludeEnd): void {
    this.#stop()
    try {
      this.#failed(reason)
    } catch (error) {
      this.#broke(error)
    }
  }

  #stop(): void {
    this.#held = NO_BYTES
    this.#length = 0
    this.#deadlines.remove(this)
    this.#socket.off('data', this.#receive)
    this.#socket.off('end', this.#closed)
    this.#socket.off('close', this.#closed)
  }
}

const NO_BYTES = Buffer.alloc(0)
