// HOT PATH: where the bytes of backends are read to. Guarded by bench/proxy.ts.
// Liberties: buffers are used again. Without this every read of a socket allocates 64 KiB, which
// costs more than all else of a large response, in pauses for everybody too.

import { connect, type NetConnectOpts, type Socket } from 'node:net'

/** What most responses fit in; each connection has one of these. */
const SMALL = 8_192
/** For bodies. Fewer and larger reads are cheaper than many small ones. */
const LARGE = 131_072
/** Large buffers that are kept for the next body; more are left to the garbage collector. */
const MAX_KEPT = 16
/** Large buffers of one connection whose bytes are on their way. */
const MAX_LENT = 8

const kept: Buffer[] = []

/** Whoever reads. */
export interface Reader {
  /** The bytes are there only until it returns, unless `needsBytes` says otherwise then. */
  receive(bytes: Buffer): void
  /** Whether something of what it has received is still needed: held back, or not yet written. */
  needsBytes(): boolean
}

/**
 * Reads of one socket into buffers that are used again. A buffer whose bytes are still needed is
 * not touched: it is lent out, and another one takes its place.
 */
export class LentReads {
  #reader: Reader | undefined = undefined
  #buffer: Buffer = Buffer.allocUnsafeSlow(SMALL)
  #filled = 0
  readonly #lent: Buffer[] = []
  /** Set when a body ends: the next read is that of a head. */
  isResting = false

  /** Nothing is read before somebody reads. */
  use(reader: Reader): void {
    this.#reader = reader
  }

  received(length: number): void {
    this.#filled = length
    this.#reader?.receive(this.#buffer.subarray(0, length))
  }

  /** The buffer of the next read, asked for after each. */
  next(): Buffer {
    const isNeeded = this.#reader?.needsBytes() === true
    const isFull = this.#filled === this.#buffer.length
    const wantsLarge = !this.isResting && (isFull || this.#buffer.length === LARGE)
    this.isResting = false
    this.#filled = 0
    if (!isNeeded) this.recover()
    if (isNeeded || wantsLarge !== (this.#buffer.length === LARGE)) {
      this.#retire(isNeeded)
      this.#buffer = wantsLarge ? (kept.pop() ?? allocate(LARGE)) : allocate(SMALL)
    }
    return this.#buffer
  }

  /** Everything that was received is written: what was lent out is free again. */
  recover(): void {
    for (const buffer of this.#lent) keep(buffer)
    this.#lent.length = 0
  }

  /** What is lent out is left to itself: nobody will say when it is free. */
  forget(): void {
    this.#lent.length = 0
  }

  #retire(isNeeded: boolean): void {
    if (this.#buffer.length !== LARGE) return
    if (!isNeeded) keep(this.#buffer)
    else if (this.#lent.length < MAX_LENT) this.#lent.push(this.#buffer)
  }
}

function allocate(length: number): Buffer {
  return Buffer.allocUnsafeSlow(length)
}

function keep(buffer: Buffer): void {
  if (kept.length < MAX_KEPT) kept.push(buffer)
}

const READS = new WeakMap<Socket, LentReads>()

/** A connection in the clear whose bytes come by `lentReadsOf` alone: it has no event for them. */
export function connectLending(options: NetConnectOpts): Socket {
  const reads = new LentReads()
  const socket = connect({
    ...options,
    onread: {
      buffer: () => reads.next(),
      callback: (length) => {
        reads.received(length)
        return true
      },
    },
  })
  READS.set(socket, reads)
  return socket
}

/** Undefined for a socket that tells of its bytes by events. */
export function lentReadsOf(socket: Socket): LentReads | undefined {
  return READS.get(socket)
}
