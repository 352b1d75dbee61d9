import type { HeldBytes } from '../held-bytes.ts'
import type { Fields } from '../http1/fields.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import type { ResponseEvents } from '../upstream-connection.ts'
import type { ChunkedBody } from './chunked-body.ts'
import type { StreamOutput } from './stream-output.ts'

/** Until a stream is begun. */
export const NO_OUTPUT: StreamOutput = undefined as unknown as StreamOutput

/** How far a request to an upstream and its response have come. */
export abstract class ClientStreamState {
  id = 0
  /** Requests before this one. */
  uses = 0
  /** It stays, and begins again with the next request. */
  out: StreamOutput = NO_OUTPUT
  deadline = Number.POSITIVE_INFINITY
  window = 0
  hasEnded = false
  isSent = false
  /** Whether it is among those whose `caughtUp` is to be called. */
  isTold = false
  protected events: ResponseEvents | undefined = undefined
  protected method = ''
  protected head: ResponseHead | undefined = undefined
  /** Of a body that comes with chunk framing, which must be taken off again. */
  protected chunks: ChunkedBody | undefined = undefined
  protected held: HeldBytes | undefined = undefined
  protected hasBody = false
  protected isEnding = false
  protected isResponding = false
  protected isPaused = false
  protected interim = 0
  /** Of a request that asks for a tunnel: what makes its response one of HTTP/1.1. */
  protected switching = ''
  protected isTunnel = false
  protected received = 0
  /** Bytes that were taken, and that the upstream was not told of. */
  protected returned = 0
  protected trailers: Fields | undefined = undefined
  protected isLeft = false
  /** Milliseconds that the upstream has where it is its turn; Infinity once it responds. */
  protected timeout = Number.POSITIVE_INFINITY

  /** Begins again, for another request on the same connection. */
  reopen(): void {
    this.uses++
    this.id = 0
    this.deadline = Number.POSITIVE_INFINITY
    this.window = 0
    this.hasEnded = false
    this.isSent = false
    this.isTold = false
    this.events = undefined
    this.method = ''
    this.head = undefined
    this.chunks = undefined
    this.held = undefined
    this.hasBody = false
    this.isEnding = false
    this.isResponding = false
    this.isPaused = false
    this.interim = 0
    this.switching = ''
    this.isTunnel = false
    this.received = 0
    this.returned = 0
    this.trailers = undefined
    this.isLeft = false
    this.timeout = Number.POSITIVE_INFINITY
  }
}
