import type { HeldBytes } from '../held-bytes.ts'
import type { Fields } from '../http1/fields.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import type { ResponseEvents } from '../upstream-connection.ts'
import type { ChunkedBody } from './chunked-body.ts'
import type { StreamOutput } from './stream-output.ts'

/** Placeholder until a stream begins. */
export const NO_OUTPUT: StreamOutput = undefined as unknown as StreamOutput

/** The progress of a request to an upstream and of its response. */
export abstract class ClientStreamState {
  id = 0
  /** Number of requests before this one. */
  uses = 0
  /** Kept for the next request, for which it is reset. */
  out: StreamOutput = NO_OUTPUT
  deadline = Number.POSITIVE_INFINITY
  window = 0
  hasEnded = false
  isSent = false
  /** Whether its `caughtUp` is scheduled to be called. */
  isCaughtUpDue = false
  protected events: ResponseEvents | undefined = undefined
  protected method = ''
  protected head: ResponseHead | undefined = undefined
  /** For a body with chunk framing, which must be removed. */
  protected chunks: ChunkedBody | undefined = undefined
  protected held: HeldBytes | undefined = undefined
  protected hasBody = false
  protected isEnding = false
  protected isResponding = false
  protected isPaused = false
  protected interim = 0
  /** For an upgrade request: the lines that turn its response into an HTTP/1.1 one. */
  protected switching = ''
  protected isTunnel = false
  protected received = 0
  /** Bytes that were consumed, but not yet announced to the upstream. */
  protected returned = 0
  protected trailers: Fields | undefined = undefined
  protected isLeft = false
  /**
   * Milliseconds that the upstream has while the gateway waits for it: for its response, then for
   * each piece of it.
   */
  protected timeout = Number.POSITIVE_INFINITY

  /** Resets the stream for another request on the same connection. */
  reopen(): void {
    this.uses++
    this.id = 0
    this.deadline = Number.POSITIVE_INFINITY
    this.window = 0
    this.hasEnded = false
    this.isSent = false
    this.isCaughtUpDue = false
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
