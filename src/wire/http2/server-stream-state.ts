import { HeldBody } from '../held-body.ts'
import type { Fields } from '../http1/fields.ts'
import type { RequestHead } from '../http1/head.ts'
import type { BodySink } from '../streams.ts'
import type { ResponseOutput } from './response-output.ts'

/** How far a request of a client and its response have come. */
export abstract class ServerStreamState {
  id: number
  readonly head: RequestHead
  readonly out: ResponseOutput
  readonly held: HeldBody = new HeldBody()
  exchange: unknown = undefined
  deadline = Number.POSITIVE_INFINITY
  /** Bytes that the client may send before it is told that there is room for more. */
  window: number
  /** Whether the client has said that this is all. */
  hasEnded = false
  /** Whether the exchange ended well, so that nobody has its head in hand any more. */
  isFinished = false
  /** Whether the whole response is on its way. */
  isSent = false
  protected sink: BodySink | undefined = undefined
  protected asWire = false
  protected arrived = 0
  protected received = 0
  /** Bytes that were taken, and that the client was not told of. */
  protected returned = 0
  /** What the client may have on its way at a time, and whether it was taken at once so far. */
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
  /** What a stream begins with. */
  readonly #window: number
  /** Requests before this one. */
  uses = 0

  constructor(id: number, head: RequestHead, out: ResponseOutput, window: number) {
    this.id = id
    this.head = head
    this.out = out
    this.window = window
    this.room = window
    this.#window = window
  }

  /** Begins again, for another request on the same connection. `theirs`: the client's own window. */
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
