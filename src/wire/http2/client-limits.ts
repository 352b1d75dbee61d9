import { HEAD_LIMITS, type HeadLimits } from '../http1/message.ts'
import type { FloodLimits } from './limits.ts'

/** How one connection to an upstream is used, and what the upstream may ask of it. */
export interface SessionOptions extends FloodLimits {
  /** Streams at the same time; fewer where the upstream wants fewer. */
  readonly streams: number
  /** Bytes of one response that may come before somebody takes them. */
  readonly streamWindow: number
  /** Bytes that may come at once on all streams together. */
  readonly connectionWindow: number
  /** Bytes of the longest frame that the upstream may send. */
  readonly frame: number
  /** How long a connection without streams is kept. */
  readonly idleTimeout: number
  /** How long to wait for the upstream's first words. */
  readonly connectTimeout: number
  /** Silence of the upstream, with requests under way, after which it is asked for a sign of life. */
  readonly pingInterval: number
  readonly pingTimeout: number
  /** Milliseconds between two PING frames if the upstream sent no message in between. */
  readonly minPingInterval: number
  /** After about so long a connection takes no more streams. */
  readonly maxAge: number
  /** After so many streams it takes no more. */
  readonly maxStreams: number
  /** For requests that name no host. */
  readonly authority: string
  readonly head: HeadLimits
  /** Whether texts of heads are Huffman-coded. */
  readonly codesTexts: boolean
}

/*
 * An upstream is somebody's choice, and may ping for each of the messages that it gets, as those of
 * gRPC do to find out about the way. It is bounded all the same.
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
  // Servers of gRPC allow one in five minutes by default, and their clock is not ours.
  minPingInterval: 310_000,
  maxAge: 3_600_000,
  maxStreams: Number.POSITIVE_INFINITY,
  authority: 'localhost',
  head: HEAD_LIMITS,
  // An upstream is near: there bytes cost less than the time to save them.
  codesTexts: false,
  controlFrames: { perSecond: 1_000, burst: 4_000 },
  overhead: { perSecond: 1_048_576, burst: 4_194_304 },
}
