import { HeldBody } from '../held-body.ts'
import type { Fields } from '../http1/fields.ts'
import type { RequestHead } from '../http1/head.ts'
import type { BodySink } from '../streams.ts'
import type { ResponseOutput } from './response-output.ts'

/** The progress of a client's request and of its response. */
export abstract class ServerStreamState {
  id: number
  readonly head: RequestHead
  readonly out: ResponseOutput
  readonly held: HeldBody = new HeldBody()
  exchange: unknown = undefined
  deadline = Number.POSITIVE_INFINITY
  /** Bytes that the client may still send before the next WINDOW_UPDATE. */
  window: number
  /** Whether the client has ended its side. */
  hasEnded = false
  /** Whether the exchange ended normally, so that its head is no longer in use. */
  isFinished = false
  /** Whether the whole response has been written. */
  isSent = false
  protected sink: BodySink | undefined = undefined
  protected asWire = false
  protected arrived = 0
  protected received = 0
  /** Bytes that were consumed, but not yet announced to the client. */
  protected returned = 0
  /** The window size, and whether all bytes so far were consumed at once. */
  protected room: number
  protected isFlowing = true
  protected trailers: Fields | undefined = undefined
  protected isPaused = false
  protected isWhole = false
  protected isTunnel = false
  protected isBegun = false
  protected hasResponded = false
  protected isOver = false
  protected isGone = false
  protected isLingering = false
  protected isPrioritized = false
  /** The initial window. */
  readonly #window: number
  /** Number of requests before this one. */
  uses = 0

  constructor(id: number, head: RequestHead, out: ResponseOutput, window: number) {
    this.id = id
    this.head = head
    this.out = out
    this.window = window
    this.room = window
    this.#window = window
  }

  /** Resets the stream for another request on the connection. `theirs`: the client's own window. */
  reopen(id: number, theirs: number): void {
    this.out.reopen(id, theirs)
    this.held.clear()
    this.uses++
    this.id = id
    this.exchange = undefined
    this.deadline = Number.POSITIVE_INFINITY
    this.window = this.#window
    this.hasEnded = false
    this.isFinished = false
    this.isSent = false
    this.sink = undefined
    this.asWire = false
    this.arrived = 0
    this.received = 0
    this.returned = 0
    this.room = this.#window
    this.isFlowing = true
    this.trailers = undefined
    this.isPaused = false
    this.isWhole = false
    this.isTunnel = false
    this.isBegun = false
    this.hasResponded = false
    this.isOver = false
    this.isGone = false
    this.isLingering = false
    this.isPrioritized = false
  }
}
