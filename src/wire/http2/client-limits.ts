import { HEAD_LIMITS, type HeadLimits } from '../http1/message.ts'
import type { FloodLimits } from './limits.ts'

/** How a connection to an upstream is used, and limits for the upstream. */
export interface SessionOptions extends FloodLimits {
  /** Max concurrent streams; fewer if the upstream sets a lower limit. */
  readonly streams: number
  /** Bytes of one response that the upstream may send before they are consumed. */
  readonly streamWindow: number
  /** Bytes that the upstream may send at once on all streams together. */
  readonly connectionWindow: number
  /** Max bytes of a frame that the upstream may send. */
  readonly frame: number
  /** How long a connection without streams is kept. */
  readonly idleTimeout: number
  /** How long to wait for the upstream's first SETTINGS. */
  readonly connectTimeout: number
  /** How long the upstream may be silent during requests before the gateway sends a PING. */
  readonly pingInterval: number
  readonly pingTimeout: number
  /** Milliseconds between two PING frames if the upstream sent no message in between. */
  readonly minPingInterval: number
  /** The approximate age at which a connection stops accepting streams. */
  readonly maxAge: number
  /** Max streams over the lifetime of a connection. */
  readonly maxStreams: number
  /** For requests without a host. */
  readonly authority: string
  readonly head: HeadLimits
  /** Whether strings in heads are Huffman-coded. */
  readonly codesTexts: boolean
}

/*
 * Upstreams are chosen deliberately, and may send a PING for each message that they receive, as
 * gRPC servers do to estimate bandwidth. Their overhead is limited nevertheless.
 */
export const SESSION_OPTIONS: SessionOptions = {
  streams: 100,
  streamWindow: 262_144,
  connectionWindow: 4_194_304,
  frame: 16_384,
  idleTimeout: 90_000,
  connectTimeout: 10_000,
  pingInterval: 30_000,
  pingTimeout: 15_000,
  // gRPC servers allow one in five minutes by default, and their clock may differ.
  minPingInterval: 310_000,
  maxAge: 3_600_000,
  maxStreams: Number.POSITIVE_INFINITY,
  authority: 'localhost',
  head: HEAD_LIMITS,
  // An upstream is near: bytes cost less than the time to save them.
  codesTexts: false,
  controlFrames: { perSecond: 1_000, burst: 4_000 },
  overhead: { perSecond: 1_048_576, burst: 4_194_304 },
}
