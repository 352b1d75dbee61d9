// HOT PATH: where the bytes of peers are read to. Guarded by bench/proxy.ts.
// Liberties: buffers are used again. Without this every read of a socket allocates 64 KiB, which
// costs more than all else of a large response, in pauses for everybody too.

import { Buffer } from 'node:buffer'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { beginEvent, endEvent } from './event-clock.ts'
import { leaveGathered } from './gathered-writes.ts'
import { onlyNew, readInto } from './user-buffer.ts'

/** What most responses fit in; each connection to a backend has one of these. */
const SMALL = 8_192
/**
 * What clients send that is no large body: all of them have this one, since most are idle, and
 * whatever is still needed of it when it was received is copied out.
 */
const SHARED = Buffer.allocUnsafeSlow(16_384)
/** For bodies. Fewer and larger reads are cheaper than many small ones. */
const LARGE = 131_072
/** Large buffers that are kept for the next body; more are left to the garbage collector. */
const MAX_KEPT = 32
/** Large buffers of one connection whose bytes are on their way. */
const MAX_LENT = 16
/** From so many on they are scarce, of one connection and of all. */
const SCARCE = 12
const SCARCE_OF_ALL = 128
/** Bytes that one record of TLS has at most. */
const RECORD = 16_384

/** Idle connections to backends that have a large buffer, since their last response needed one. */
const MAX_RESTING = 64

const ALL = Number.POSITIVE_INFINITY

/** A buffer whose bytes are on their way. */
interface Lent {
  readonly buffer: Buffer
  readonly number: number
}

const kept: Buffer[] = []
let lentOfAll = 0
let resting = 0

/** Whoever reads. */
export interface Reader {
  /**
   * What is between two offsets is there only until it returns, unless `needsBytes` says otherwise
   * then. In the buffer that all clients share it never is for longer: see `keepable`.
   */
  receive(bytes: Buffer, from: number, to: number): void
  /**
   * Whether something of what it has received is still needed: held back, or not yet written. With
   * `neededSince` that is asked of the buffer that is read to now alone.
   */
  needsBytes(): boolean
  /** Of the buffers that are needed the oldest, by `LentReads.buffers`; Infinity: none is. */
  neededSince?(): number
}

/**
 * Reads of one socket into buffers that are used again. A buffer whose bytes are still needed is
 * not touched: it is lent out, and another one takes its place.
 */
export class LentReads {
  #reader: Reader | undefined = undefined
  readonly #isShared: boolean
  readonly #gathers: boolean
  #buffer: Buffer
  #filled = 0
  /** Up to where the reader has received what is in the buffer; records gather behind. */
  #delivered = 0
  #isScheduled = false
  /** Bytes of this message so far, of several where they came together. */
  #received = 0
  /** Whether it is one of those that rest with a large buffer. */
  #isCounted = false
  #isClosed = false
  readonly #lent: Lent[] = []
  /** How many buffers it has read to: the number of the one at hand. */
  buffers = 0
  /** Somebody has bytes of the buffer at hand, and nobody will say when it is free. */
  #isForgotten = false
  /** Set when a body ends: the next read is that of a head. */
  isResting = false

  /** How many rest with a large buffer, of all. */
  static get resting(): number {
    return resting
  }

  /**
   * `isShared`: has no small buffer of its own. `gathers`: reads into a large buffer that come in one
   * turn of the event loop are received together, since TLS hands out one record at a time.
   */
  constructor(isShared = false, gathers = false) {
    this.#isShared = isShared
    this.#gathers = gathers
    this.#buffer = this.#small()
  }

  /** Whether bytes that are received, or were and are still held, may be in a buffer to be reused. */
  get isLending(): boolean {
    return this.#buffer !== SHARED || this.#lent.length > 0
  }

  /** Nothing is read before somebody reads. */
  use(reader: Reader): void {
    this.#reader = reader
  }

  received(length: number): void {
    // Right after a read its bytes are on their way, by TLS always: now those before may have left.
    if (this.#lent.length > 0) this.#recover()
    this.#filled += length
    this.#received += length
    if (!this.#gathers || this.#buffer.length !== LARGE) this.flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(this.#flushLater)
    }
  }

  /** What has gathered is received now. */
  flush(): void {
    const from = this.#delivered
    const to = this.#filled
    if (from === to) return
    this.#delivered = to
    beginEvent()
    try {
      this.#reader?.receive(this.#buffer, from, to)
    } finally {
      endEvent()
      leaveGathered()
    }
  }

  readonly #flushLater = (): void => {
    this.#isScheduled = false
    this.flush()
  }

  /** The buffer of the next read, asked for after each. */
  next(): Buffer {
    const hasRoom = this.#buffer.length === LARGE && this.#filled + RECORD <= LARGE
    if (this.#gathers && hasRoom && !this.isResting) return this.#buffer.subarray(this.#filled)
    this.flush()
    const isNeeded = this.isLending && this.#reader?.needsBytes() === true
    const isFull = this.#filled === this.#buffer.length
    const isLarge = this.#buffer.length === LARGE
    const wantsLarge = this.isResting ? this.#restsLarge() : isFull || isLarge
    if (!this.isResting) this.#uncount()
    this.isResting = false
    this.#filled = 0
    this.#delivered = 0
    if (this.#lent.length > 0) this.#recover()
    const isFree = this.#buffer === SHARED || !(isNeeded || this.#isForgotten)
    if (!isFree || wantsLarge !== isLarge) {
      this.#retire(isNeeded)
      this.buffers++
      this.#buffer = wantsLarge ? (kept.pop() ?? allocate(LARGE)) : this.#small()
    }
    return this.#buffer
  }

  /** Whether so much is lent out that what is not long should rather be copied. */
  get isScarce(): boolean {
    return this.#lent.length >= SCARCE || lentOfAll >= SCARCE_OF_ALL
  }

  /** What was lent out and is written is free again. */
  #recover(): void {
    const reader = this.#reader
    const lent = this.#lent
    const since = reader?.neededSince?.() ?? (reader?.needsBytes() === true ? 0 : ALL)
    let freed = 0
    for (; freed < lent.length && (lent[freed] as Lent).number < since; freed++)
      keep((lent[freed] as Lent).buffer)
    lentOfAll -= freed
    if (freed > 0) lent.splice(0, freed)
  }

  /** What is lent out is left to itself: nobody will say when it is free. */
  forget(): void {
    lentOfAll -= this.#lent.length
    this.#lent.length = 0
    this.#isForgotten = true
  }

  /** The socket is closed; the read that it was closed in may still ask for the next buffer. */
  close(): void {
    this.#isClosed = true
    this.#uncount()
    this.forget()
  }

  #retire(isNeeded: boolean): void {
    const isForgotten = this.#isForgotten
    this.#isForgotten = false
    if (this.#buffer.length !== LARGE || isForgotten) return
    if (!isNeeded) keep(this.#buffer)
    else if (this.#lent.length < MAX_LENT) {
      this.#lent.push({ buffer: this.#buffer, number: this.buffers })
      lentOfAll++
    }
  }

  /**
   * Whether the next head is read into a large buffer: a response of this size comes in one read
   * then, and leaves in one write. Clients are too many for it.
   */
  #restsLarge(): boolean {
    const wasLarge = this.#received > SMALL
    this.#received = 0
    this.#uncount()
    if (!wasLarge || this.#isShared || this.#isClosed || resting >= MAX_RESTING) return false
    this.#isCounted = true
    resting++
    return true
  }

  #uncount(): void {
    if (this.#isCounted) resting--
    this.#isCounted = false
  }

  #small(): Buffer {
    return this.#isShared ? SHARED : allocate(SMALL)
  }
}

/** What was received, for whoever needs it for longer: a copy where another client is read next. */
export function keepable(bytes: Buffer, from: number, to: number): Buffer {
  const view = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to)
  return bytes === SHARED ? Buffer.from(view) : view
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
      buffer: onlyNew(() => reads.next()),
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

/** The same of a socket that was accepted; undefined: it tells of its bytes by events. */
export function lendReads(socket: Socket, gathers = false): LentReads | undefined {
  const reads = new LentReads(true, gathers)
  const isLent = readInto(
    socket,
    () => reads.next(),
    (length) => reads.received(length),
  )
  return isLent ? reads : undefined
}
