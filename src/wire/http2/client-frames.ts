// HOT PATH: the requests to one upstream. Guarded by bench/proxy.ts.
// Liberties: streams and heads of responses are reused.

import type { Socket } from 'node:net'
import type { Deadlines } from '../deadlines.ts'
import type { HeadLimits } from '../http1/message.ts'
import { ResponseHead } from '../http1/response-head.ts'
import { keepable, type LentReads, type Reader } from '../lent-reads.ts'
import type { ResponseEvents } from '../upstream-connection.ts'
import type { SessionOptions } from './client-limits.ts'
import type { ClientStream } from './client-stream.ts'
import { NO_OUTPUT } from './client-stream-state.ts'
import { ConnectionFrames } from './connection-frames.ts'
import type { FieldBlock } from './field-block.ts'
import { FrameReader } from './frame-reader.ts'
import { type Http2Observer, listSizeOf } from './limits.ts'
import { PeerSettings } from './peer-settings.ts'
import {
  FRAME_HEAD,
  INTERNAL_ERROR,
  MAX_STREAM,
  PROTOCOL_ERROR,
  STREAM_CLOSED,
} from './protocol.ts'
import type { StreamHome } from './stream-home.ts'
import { StreamOutput } from './stream-output.ts'
import { StreamPool } from './stream-pool.ts'

/** Max heads that one connection keeps for further responses. */
const MAX_HEADS = 16

/** Handles an upstream's frames for streams; see ./client.ts for the connection's lifecycle. */
export abstract class ClientFrames
  extends ConnectionFrames<ClientStream>
  implements StreamHome, Reader
{
  readonly scheme: 'http' | 'https'
  readonly authority: string
  readonly limits: HeadLimits
  readonly streamWindow: number
  protected readonly reader: FrameReader
  protected readonly reads: LentReads | undefined
  /** Whether part of a response arrived since this was last set to false. */
  protected hasReceivedMessage = false
  /** The last stream that the upstream may have processed, if it sent GOAWAY. */
  #lastSeen: number = MAX_STREAM
  #next = 1
  protected readonly pool: StreamPool<ClientStream> = new StreamPool()
  readonly #heads: ResponseHead[] = []
  readonly #scheduleCaughtUp: ClientStream[] = []
  /** Receivers of bytes that they may still need. */
  readonly #borrowers = new Set<ResponseEvents>()

  constructor(
    socket: Socket,
    reads: LentReads | undefined,
    options: SessionOptions,
    deadlines: Deadlines,
    observer: Http2Observer,
    broke: (error: unknown) => void,
  ) {
    const peer = new PeerSettings('server')
    super(socket, peer, options, listSizeOf(options.head), deadlines, observer, broke)
    this.scheme = 'encrypted' in socket ? 'https' : 'http'
    this.authority = options.authority
    this.limits = options.head
    this.streamWindow = options.streamWindow
    this.reads = reads
    this.reader = new FrameReader(this, options.frame)
  }

  abstract destroy(reason: string): void
  abstract left(stream: ClientStream): void
  /** Whether the connection accepts no more streams. */
  abstract readonly isClosing: boolean

  get allowsConnect(): boolean {
    return this.peer.allowsConnect
  }

  /** Whether all stream IDs are used up. */
  protected get isSpent(): boolean {
    return this.#next > MAX_STREAM
  }

  begin(stream: ClientStream): boolean {
    if (this.isOver || this.isClosing || this.isSpent) return false
    const { window } = this.peer
    stream.id = this.#next
    this.#next += 2
    if (stream.out === NO_OUTPUT) stream.out = new StreamOutput(stream.id, this.output, window)
    else stream.out.reopen(stream.id, window)
    this.add(stream)
    return true
  }

  takeHead(): ResponseHead {
    return this.#heads.pop() ?? new ResponseHead()
  }

  returnHead(head: ResponseHead): void {
    if (this.#heads.length < MAX_HEADS) this.#heads.push(head)
  }

  scheduleCaughtUp(stream: ClientStream): void {
    if (stream.isCaughtUpDue) return
    stream.isCaughtUpDue = true
    this.#scheduleCaughtUp.push(stream)
  }

  lent(events: ResponseEvents): void {
    if (this.reads === undefined) return
    // A receiver that does not report when it is done keeps the bytes for good.
    if (events.isWritten === undefined) this.reads.forget()
    else if (!events.isWritten()) this.#borrowers.add(events)
  }

  needsBytes(): boolean {
    const borrowers = this.#borrowers
    if (borrowers.size === 0) return false
    for (const borrower of borrowers)
      if (borrower.isWritten?.() === true) borrowers.delete(borrower)
    return borrowers.size > 0
  }

  receive(bytes: Buffer, from = 0, to: number = bytes.length): void {
    if (this.isOver) return
    this.received()
    try {
      this.reader.read(keepable(bytes, from, to))
    } catch (error) {
      // A bug in the gateway: the state of the connection is unknown.
      this.destroy('error')
      throw error
    }
    const scheduleCaughtUp = this.#scheduleCaughtUp
    for (let i = 0; i < scheduleCaughtUp.length; i++) {
      const stream = scheduleCaughtUp[i] as ClientStream
      stream.isCaughtUpDue = false
      stream.caughtUp()
    }
    scheduleCaughtUp.length = 0
    this.pool.settle()
  }

  protected abstract received(): void

  isIdle(id: number): boolean {
    return id >= this.#next || id % 2 === 0
  }

  /** RFC 9218 §7.1: servers must not send priorities. */
  prioritized(): number {
    return PROTOCOL_ERROR
  }

  wasReset(id: number, code: number): void {
    const stream = this.streams.get(id)
    if (stream === undefined) return
    this.remove(stream, 'over')
    stream.wasReset(code)
  }

  /** RFC 9113 §6.8: streams after `last` were not processed, and their requests can be retried. */
  protected forgetUnseen(last: number): void {
    this.#lastSeen = Math.min(this.#lastSeen, last)
    for (const stream of [...this.streams.values()]) {
      if (stream.id <= this.#lastSeen) continue
      this.remove(stream, 'cut')
      stream.wasUnseen()
    }
  }

  override beginData(id: number, length: number, padding: number, ends: boolean): boolean {
    this.hasReceivedMessage = true
    return super.beginData(id, length, padding, ends)
  }

  protected onBlock(stream: ClientStream, fields: FieldBlock, endsStream: boolean): void {
    this.hasReceivedMessage = true
    if (stream.hasEnded) {
      this.failStream(stream.id, STREAM_CLOSED)
      return
    }
    try {
      stream.receiveBlock(fields, endsStream)
    } catch (error) {
      this.broke(stream, error)
    }
    if (stream.hasEnded && stream.isSent) this.remove(stream, 'over')
  }

  /** Blocks on idle or ended streams are errors; on reset streams, they may have been in flight. */
  protected onStrayBlock(id: number): void {
    if (this.isIdle(id)) this.fail(PROTOCOL_ERROR)
    else if (this.closedStreams.find(id) === 'over') this.fail(STREAM_CLOSED)
    else this.guard.overhead(FRAME_HEAD)
  }

  protected onStrayData(id: number, length: number): void {
    this.guard.overhead(FRAME_HEAD + length)
    if (this.closedStreams.find(id) === 'over' && !this.isOver) this.fail(STREAM_CLOSED)
  }

  protected removed(stream: ClientStream): void {
    stream.release()
    if (stream.isDone) this.pool.put(stream)
  }

  /** The connection is gone: no frames are sent for the end of its streams. */
  protected override abandon(reason: string): void {
    for (const stream of [...this.streams.values()]) {
      this.remove(stream, 'over')
      stream.gone(reason, reason === 'reset')
    }
  }

  /** A bug in the gateway, which ends this stream only; the error is rethrown as uncaught. */
  protected broke(stream: ClientStream | undefined, error: unknown): void {
    if (stream !== undefined) {
      this.reset(stream, INTERNAL_ERROR)
      stream.gone('error')
    }
    process.nextTick(() => {
      throw error
    })
  }
}
