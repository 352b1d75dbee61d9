// HOT PATH: the buffers into which peers' bytes are read. Guarded by bench/proxy.ts.
// Liberties: buffers are reused. Without this, every read of a socket allocates 64 KiB, which costs
// more than everything else of a large response, also in GC pauses for all connections.

import { Buffer } from 'node:buffer'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { beginEvent, endEvent } from './event-clock.ts'
import { leaveGathered } from './gathered-writes.ts'
import { onlyNew, readInto } from './user-buffer.ts'

/** Most responses fit; each connection to a backend has one of these. */
const SMALL = 8_192
/**
 * For clients that send no large body: all share this one, since most are idle, and bytes that are
 * still needed after processing are copied out.
 */
const SHARED = Buffer.allocUnsafeSlow(16_384)
/** For bodies. Fewer and larger reads are cheaper than many small ones. */
const LARGE = 131_072
/** Large buffers kept for further bodies; surplus ones are left to the garbage collector. */
const MAX_KEPT = 32
/** Max large buffers of one connection with unwritten bytes. */
const MAX_LENT = 16
/** Above these numbers buffers are scarce: for one connection, and for all. */
const SCARCE = 12
const SCARCE_OF_ALL = 128
/** Max bytes of a TLS record. */
const RECORD = 16_384

/** Max idle backend connections with a large buffer, which their last response needed. */
const MAX_RESTING = 64

const ALL = Number.POSITIVE_INFINITY

/** A buffer with unwritten bytes. */
interface Lent {
  readonly buffer: Buffer
  readonly number: number
}

const kept: Buffer[] = []
let lentOfAll = 0
let resting = 0

/** The consumer of a socket's reads. */
export interface Reader {
  /**
   * The bytes between the two offsets are valid only until this returns, unless `needsBytes` is
   * true then. In the buffer that all clients share they are never valid for longer: see
   * `keepable`.
   */
  receive(bytes: Buffer, from: number, to: number): void
  /**
   * Whether received bytes are still needed: held back, or not written yet. With `neededSince`,
   * this applies only to the current buffer.
   */
  needsBytes(): boolean
  /** The oldest buffer still needed, by `LentReads.buffers`; Infinity: none. */
  neededSince?(): number
}

/**
 * Reads of one socket into reused buffers. A buffer whose bytes are still needed is not touched: it
 * is lent out, and another one takes its place.
 */
export class LentReads {
  #reader: Reader | undefined = undefined
  readonly #isShared: boolean
  readonly #gathers: boolean
  #buffer: Buffer
  #filled = 0
  /** How much of the buffer the reader has received; further records are gathered after it. */
  #delivered = 0
  #isScheduled = false
  /** Bytes of this message so far, or of several that arrived together. */
  #received = 0
  /** Whether it counts as resting with a large buffer. */
  #isCounted = false
  #isClosed = false
  readonly #lent: Lent[] = []
  /** The number of buffers used so far, which is the number of the current one. */
  buffers = 0
  /** Bytes of the current buffer are in use, and the end of that use will not be reported. */
  #isForgotten = false
  /** Set when a body ends: the next read is that of a head. */
  isResting = false

  /** The number of connections that rest with a large buffer. */
  static get resting(): number {
    return resting
  }

  /**
   * `isShared`: has no small buffer of its own. `gathers`: reads into a large buffer in one turn of
   * the event loop are delivered together, since TLS returns one record at a time.
   */
  constructor(isShared = false, gathers = false) {
    this.#isShared = isShared
    this.#gathers = gathers
    this.#buffer = this.#small()
  }

  /**
   * Whether received bytes, or earlier ones that are still held, may be in a buffer to be reused.
   */
  get isLending(): boolean {
    return this.#buffer !== SHARED || this.#lent.length > 0
  }

  /** Must be called before the first read. */
  use(reader: Reader): void {
    this.#reader = reader
  }

  received(length: number): void {
    // Right after a read, its bytes are still being written (always in TLS); earlier ones may be
    // sent.
    if (this.#lent.length > 0) this.#recover()
    this.#filled += length
    this.#received += length
    if (!this.#gathers || this.#buffer.length !== LARGE) this.flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(this.#flushLater)
    }
  }

  /** Delivers the gathered bytes. */
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

  /** The buffer for the next read; called after each read. */
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

  /** Whether so many buffers are lent out that shorter pieces should be copied. */
  get isScarce(): boolean {
    return this.#lent.length >= SCARCE || lentOfAll >= SCARCE_OF_ALL
  }

  /** Takes back lent buffers that have been written. */
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

  /** Abandons the lent buffers: the end of their use will not be reported. */
  forget(): void {
    lentOfAll -= this.#lent.length
    this.#lent.length = 0
    this.#isForgotten = true
  }

  /** The socket is closed; the read in progress may still call `next`. */
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
   * Whether the next head is read into a large buffer: a response of this size then arrives in one
   * read, and leaves in one write. There are too many clients for that.
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

/** Received bytes for longer use: a copy if the next client is read into the same buffer. */
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

/** A plaintext connection whose bytes arrive only through `lentReadsOf`, not as events. */
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

/** Undefined for a socket that delivers its bytes as events. */
export function lentReadsOf(socket: Socket): LentReads | undefined {
  return READS.get(socket)
}

/** The same for an accepted socket; undefined: it delivers its bytes as events. */
export function lendReads(socket: Socket, gathers = false): LentReads | undefined {
  const reads = new LentReads(true, gathers)
  const isLent = readInto(
    socket,
    () => reads.next(),
    (length) => reads.received(length),
  )
  return isLent ? reads : undefined
}
