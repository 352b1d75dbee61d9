// HOT PATH: what a client sends, and who of us still needs it. Guarded by bench/proxy.ts.

import { Buffer } from 'node:buffer'
import type { Socket } from 'node:net'
import { guarded } from '../guard-events.ts'
import type { HeldBytes } from '../held-bytes.ts'
import { keepable, type LentReads, lendReads, type Reader } from '../lent-reads.ts'
import { type BodySink, NOWHERE } from '../streams.ts'

type Receive = (bytes: Buffer, from: number, to: number) => void

/** Reads a client's bytes into buffers that are used again, where Node lets it. */
export class ClientReads implements Reader {
  readonly #held: HeldBytes
  readonly #receive: Receive
  readonly #guarded: Receive
  readonly #reads: LentReads | undefined
  /** Who got bytes that it may still need. */
  #borrower: BodySink | undefined = undefined

  /** `receive` is told of bytes behind those that are held; `broke` of what it throws. */
  constructor(socket: Socket, held: HeldBytes, broke: (error: unknown) => void, receive: Receive) {
    this.#held = held
    this.#receive = receive
    this.#guarded = guarded(socket, broke, (bytes: Buffer, from: number, to: number) =>
      this.read(bytes, from, to),
    )
    // What was read before comes by events, and all where nothing can be lent.
    socket.on('data', (bytes: Buffer) => this.#guarded(bytes, 0, bytes.length))
    this.#reads = lendReads(socket)
    this.#reads?.use(this)
  }

  receive(bytes: Buffer, from: number, to: number): void {
    this.#guarded(bytes, from, to)
  }

  /** Behind what is held. */
  read(bytes: Buffer, from: number, to: number): void {
    const held = this.#held
    if (held.length === 0) this.#receive(bytes, from, to)
    else {
      const all = held.join(bytes.subarray(from, to))
      this.#receive(all, 0, all.length)
    }
  }

  /** What was held is received again. */
  readHeld(): void {
    const held = this.#held.take()
    if (held.length > 0) this.#receive(held, 0, held.length)
  }

  /** What cannot be understood yet. */
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

  /** Gives `sink` something of what was received: a copy if it does not say when it is done. */
  pass(received: Buffer, from: number, to: number, sink: BodySink = NOWHERE): boolean {
    const reads = this.#reads
    const bytes = keepable(received, from, to)
    if (reads?.isLending !== true) return sink.write(bytes)
    if (sink.hasWritten === undefined) return sink.write(Buffer.from(bytes))
    const before = this.#borrower
    this.#borrower = sink
    // The one before may still write what it got: then nobody can say when that is free.
    if (before !== undefined && before !== sink && before.hasWritten?.() !== true) reads.forget()
    return sink.write(bytes)
  }

  /** A body is whole: what comes next is a head. */
  rest(): void {
    if (this.#reads !== undefined) this.#reads.isResting = true
  }
}
