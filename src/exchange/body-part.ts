import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'
import type { ResponseDraft } from './response-draft.ts'

/*
 * What a policy does to a body on its way. A policy without one costs nothing. Bodies of gRPC,
 * tunnels and upgraded connections are left alone, unless a policy asks for gRPC.
 */

/** One policy at work on the body of a request or a response. */
export type BodyPart = WholePart | BeginningPart | StreamPart

interface AnyPart {
  /** gRPC too, whose streams wait for nobody. */
  readonly grpc?: boolean
}

/**
 * The whole body, before anything of it is sent on. What is sent then has a Content-Length.
 * A request without a body counts as an empty one.
 */
export interface WholePart extends AnyPart {
  readonly mode: 'whole'
  /** Undefined: `frontend.http.maxBufferSize`. */
  readonly maxBytes: number | undefined
  /** Expressions read it as `response.body`: what it stands for, beyond its Content-Encoding. */
  readonly isRead?: boolean
  /** A longer one is rejected (413; 502 for a response), or passes without this policy. */
  readonly whenLonger: 'reject' | 'pass'
  /** Undefined: it stays as it is. `response`: only on the way back. */
  change?(
    bytes: Uint8Array,
    exchange: Exchange,
    response?: ResponseDraft,
  ): BodyOutcome | Promise<BodyOutcome>
}

/** As much of the body as fits, before anything of it is sent on; it passes as it is. */
export interface BeginningPart extends AnyPart {
  readonly mode: 'beginning'
  readonly maxBytes: number
  /** `isWhole`: there is nothing more. A Reply ends the exchange. */
  look(
    bytes: Uint8Array,
    isWhole: boolean,
    exchange: Exchange,
    response?: ResponseDraft,
  ): Reply | undefined | Promise<Reply | undefined>
}

/** Piece by piece, as it comes. */
export interface StreamPart extends AnyPart {
  readonly mode: 'stream'
  /**
   * When the head is there; not for a request whose head says that it has no body. Undefined: this
   * body is left as it is.
   */
  open(exchange: Exchange, flow: BodyFlow, response?: ResponseDraft): BodyTransformer | undefined
}

/** The body that takes its place, or a Reply that ends the exchange; undefined: as it is. */
export type BodyOutcome = Uint8Array | Reply | undefined

/** Where a transformer sends what it makes. */
export interface BodyFlow {
  /** False: no more until `resume`. The bytes must not be touched afterwards. */
  write(bytes: Uint8Array): boolean
  /** Once, after `end` of the transformer. */
  end(): void
  /** The body cannot be had: an error before the first byte is sent, a broken stream after it. */
  fail(why: unknown): void
  /** After `write` of the transformer returned false: it accepts more. */
  drained(): void
}

/** What it throws counts as `fail`. */
export interface BodyTransformer {
  /** False: no more until it calls `drained`. It may keep the bytes. */
  write(bytes: Uint8Array): boolean
  /** The body is whole. */
  end(): void
  /** The flow takes more again. */
  resume(): void
  /** Nothing more is coming for now: what was kept back to leave together leaves. */
  flush?(): void
  /** Nobody wants the rest. */
  abort(): void
}

/** A transformer without memory of its own: each piece becomes another one at once. */
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
