import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'
import type { ResponseDraft } from './response-draft.ts'

/*
 * How a policy inspects or changes a message body. A policy without a body part costs nothing.
 * Bodies of gRPC, tunnels and upgraded connections are not processed, unless a policy opts in to
 * gRPC.
 */

/** The processing of a request or response body by one policy. */
export type BodyPart = WholePart | BeginningPart | StreamPart

interface AnyPart {
  /** Also applies to gRPC, whose streams are not held up by default. */
  readonly grpc?: boolean
}

/**
 * Buffers the whole body before any of it is forwarded. The forwarded message has a Content-Length.
 * A request without a body counts as having an empty one.
 */
export interface WholePart extends AnyPart {
  readonly mode: 'whole'
  /** If undefined, `frontend.http.maxBufferSize`. */
  readonly maxBytes: number | undefined
  /** Expressions read the body as `response.body`, with its Content-Encoding decoded. */
  readonly isRead?: boolean
  /**
   * A longer body is rejected (413; 502 for a response) or forwarded without applying this policy.
   */
  readonly whenLonger: 'reject' | 'pass'
  /** If undefined, the body is not changed. `response` is set on the response path only. */
  change?(
    bytes: Uint8Array,
    exchange: Exchange,
    response?: ResponseDraft,
  ): BodyOutcome | Promise<BodyOutcome>
}

/**
 * Inspects as much of the body as fits before any of it is forwarded, and forwards it unchanged.
 */
export interface BeginningPart extends AnyPart {
  readonly mode: 'beginning'
  readonly maxBytes: number
  /** `isWhole`: there are no more bytes. A Reply ends the exchange. */
  look(
    bytes: Uint8Array,
    isWhole: boolean,
    exchange: Exchange,
    response?: ResponseDraft,
  ): Reply | undefined | Promise<Reply | undefined>
}

/** Processes the body chunk by chunk as it arrives. */
export interface StreamPart extends AnyPart {
  readonly mode: 'stream'
  /**
   * Called when the head is available; not for a request whose head says that it has no body. If
   * the result is undefined, this body is not changed.
   */
  open(exchange: Exchange, flow: BodyFlow, response?: ResponseDraft): BodyTransformer | undefined
}

/** The new body, or a Reply that ends the exchange; undefined leaves the body unchanged. */
export type BodyOutcome = Uint8Array | Reply | undefined

/** Receives the output of a transformer. */
export interface BodyFlow {
  /** False: no more until `resume`. The caller must not modify the bytes afterwards. */
  write(bytes: Uint8Array): boolean
  /** Called once, after `end` of the transformer. */
  end(): void
  /**
   * Reports that the body is not available: an error before the first byte is sent, an aborted
   * stream after it.
   */
  fail(why: unknown): void
  /** Called after `write` of the transformer returned false: it accepts more. */
  drained(): void
}

/** If a method throws, this counts as `fail`. */
export interface BodyTransformer {
  /** False: no more until it calls `drained`. It may keep the bytes. */
  write(bytes: Uint8Array): boolean
  /** Called after the last byte of the body. */
  end(): void
  /** Called when the flow accepts more. */
  resume(): void
  /** Called when no more bytes are expected for now: sends what was held back for batching. */
  flush?(): void
  /** Called when the rest is no longer needed. */
  abort(): void
}

/** A stateless transformer that maps each chunk to a new one immediately. */
export function inPieces(
  flow: BodyFlow,
  each: (bytes: Uint8Array) => Uint8Array,
  last: () => Uint8Array | undefined = () => undefined,
): BodyTransformer {
  return {
    write: (bytes) => flow.write(each(bytes)),
    end() {
      const rest = last()
      if (rest !== undefined && rest.length > 0) flow.write(rest)
      flow.end()
    },
    resume: () => flow.drained(),
    abort() {},
  }
}
