// HOT PATH: received client bytes, and which receivers still need them. Guarded by bench/proxy.ts.

import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import { guarded } from '../guard-events.ts'
import type { HeldBytes } from '../held-bytes.ts'
import { keepable, type LentReads, lendReads, type Reader } from '../lent-reads.ts'
import { type BodySink, NOWHERE } from '../streams.ts'

type Receive = (bytes: Buffer, from: number, to: number) => void

/** Reads a client's bytes into reused buffers, if Node supports it. */
export class ClientReads implements Reader {
  readonly #held: HeldBytes
  readonly #receive: Receive
  readonly #guarded: Receive
  readonly #reads: LentReads | undefined
  /** The receiver of bytes that it may still need. */
  #borrower: BodySink | undefined = undefined

  /** `receive` gets bytes that follow the held ones; `broke` gets what it throws. */
  constructor(socket: Socket, held: HeldBytes, broke: (error: unknown) => void, receive: Receive) {
    this.#held = held
    this.#receive = receive
    this.#guarded = guarded(socket, broke, (bytes: Buffer, from: number, to: number) =>
      this.read(bytes, from, to),
    )
    // Bytes read earlier arrive as events; so do all bytes if buffers cannot be lent.
    socket.on('data', (bytes: Buffer) => this.#guarded(bytes, 0, bytes.length))
    this.#reads = lendReads(socket)
    this.#reads?.use(this)
  }

  receive(bytes: Buffer, from: number, to: number): void {
    this.#guarded(bytes, from, to)
  }

  /** Receives bytes, after the held ones. */
  read(bytes: Buffer, from: number, to: number): void {
    const held = this.#held
    if (held.length === 0) this.#receive(bytes, from, to)
    else {
      const all = held.join(bytes.subarray(from, to))
      this.#receive(all, 0, all.length)
    }
  }

  /** Receives the held bytes again. */
  readHeld(): void {
    const held = this.#held.take()
    if (held.length > 0) this.#receive(held, 0, held.length)
  }

  /** Holds incomplete bytes. */
  hold(bytes: Buffer, from: number, to: number): void {
    this.#held.hold(keepable(bytes, from, to))
  }

  needsBytes(): boolean {
    if (this.#held.length > 0) return true
    if (this.#borrower === undefined) return false
    if (this.#borrower.hasWritten?.() !== true) return true
    this.#borrower = undefined
    return false
  }

  /** Passes received bytes to `sink`: a copy if the sink does not report when it is done. */
  pass(received: Buffer, from: number, to: number, sink: BodySink = NOWHERE): boolean {
    const reads = this.#reads
    const bytes = keepable(received, from, to)
    if (reads?.isLending !== true) return sink.write(bytes)
    if (sink.hasWritten === undefined) return sink.write(Buffer.from(bytes))
    const before = this.#borrower
    this.#borrower = sink
    // If the previous sink may still write its bytes, the end of that use is unknown.
    if (before !== undefined && before !== sink && before.hasWritten?.() !== true) reads.forget()
    return sink.write(bytes)
  }

  /** Called when a body is complete: a head comes next. */
  rest(): void {
    if (this.#reads !== undefined) this.#reads.isResting = true
  }
}
