import type { HeadLimits } from '../http1/message.ts'
import type { ServerLimits } from '../http1/server-limits.ts'

/** Limits for a connection's overhead, apart from requests and responses. */
export interface FloodLimits {
  /** Streams per second that the peer may reset, or make the gateway reset; undefined: no limit. */
  readonly resets?: Rate
  /**
   * PING frames per second; also applies separately to SETTINGS, to priorities, and to empty DATA
   * frames that do not end a stream.
   */
  readonly controlFrames: Rate
  /**
   * Bytes per second of WINDOW_UPDATE; also applies separately to all other bytes that belong to no
   * head or body and are not counted by frame.
   */
  readonly overhead: Rate
}

/** Limits for one client on one HTTP/2 connection. */
export interface Http2Limits extends ServerLimits, FloodLimits {
  /** Max concurrent streams, announced to the client; further ones are rejected. */
  readonly streams: number
  /** Bytes of one body that a client may send before they are consumed. */
  readonly streamWindow: number
  /** The same for all bodies of a connection together. */
  readonly connectionWindow: number
  /** Max bytes of a frame that a client may send. */
  readonly frame: number
  /** Whether strings in heads are Huffman-coded. */
  readonly codesTexts: boolean
  /**
   * Max unsent bytes for a client that does not read; above it, the gateway stops reading from it.
   */
  readonly unread: number
  /** Milliseconds of silence before a PING, and how long to wait for its acknowledgement. */
  readonly pingInterval: number
  readonly pingTimeout: number
}

export interface Rate {
  readonly perSecond: number
  /** How much may arrive at once. */
  readonly burst: number
}

export const HTTP2_LIMITS: Http2Limits = {
  head: 32_768,
  target: 8_192,
  fields: 100,
  idle: 120_000,
  headTimeout: 10_000,
  bodyTimeout: 60_000,
  writeTimeout: 60_000,
  body: Number.POSITIVE_INFINITY,
  lowersNames: false,
  upgrades: new Set(),
  streams: 128,
  streamWindow: 262_144,
  connectionWindow: 1_048_576,
  frame: 16_384,
  resets: { perSecond: 50, burst: 200 },
  controlFrames: { perSecond: 50, burst: 200 },
  overhead: { perSecond: 65_536, burst: 262_144 },
  codesTexts: true,
  unread: 1_048_576,
  pingInterval: 30_000,
  pingTimeout: 15_000,
}

/** Milliseconds that the gateway keeps reading a request after its early response. */
export const LINGER = 1_000

/** RFC 9113 §6.5.2: the max size of a head, for which each field counts 32 additional bytes. */
export function listSizeOf({ head, fields }: Pick<HeadLimits, 'head' | 'fields'>): number {
  return head + (fields + 4) * 32
}

/** The limit that a peer exceeded, which ended its connection. */
export type Flood =
  | 'too-many-resets'
  | 'too-many-pings'
  | 'too-many-settings'
  | 'too-many-priorities'
  | 'too-many-empty-frames'
  | 'too-many-window-updates'
  | 'too-much-overhead'
  | 'too-many-header-frames'
  /** Or did not read. */
  | 'too-much-unread'

/** The counters of HTTP/2 connections; the words are stable, since metrics contain them. */
export type Http2Count =
  | 'session'
  | 'stream'
  | 'client-reset'
  | 'control-frame'
  | 'goaway-received'
  | 'session-error'
  | 'idle'
  | 'no-preface'
  | 'ping-timeout'
  | Flood

/**
 * Why the gateway reset a stream: the stream limit, an exchange that it cut short, a slow client, a
 * malformed message, or a response that was complete before its request.
 */
export type ResetReason = 'refused' | 'aborted' | 'timeout' | 'malformed' | 'complete'

/** The error that ended a connection: the code of its GOAWAY. */
export type ConnectionError =
  | 'protocol'
  | 'flow-control'
  | 'stream-closed'
  | 'frame-size'
  | 'compression'

export interface Http2Observer {
  counted(what: Http2Count): void
  failed?(error: ConnectionError): void
  reset?(reason: ResetReason): void
}

export const NO_OBSERVER: Http2Observer = { counted: () => {} }

/** A token bucket: a burst has to be made up for. */
export class Allowance {
  readonly #rate: Rate
  #left: number
  #at: number

  constructor(rate: Rate, now: number = performance.now()) {
    this.#rate = rate
    this.#left = rate.burst
    this.#at = now
  }

  /** Returns false if the limit is exceeded. */
  spend(amount: number, now: number = performance.now()): boolean {
    const { perSecond, burst } = this.#rate
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * perSecond) - amount
    this.#at = now
    return this.#left >= 0
  }
}
