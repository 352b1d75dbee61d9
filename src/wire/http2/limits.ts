import type { HeadLimits } from '../http1/message.ts'
import type { ServerLimits } from '../http1/server-limits.ts'

/** What one connection may be bothered with, besides requests and responses. */
export interface FloodLimits {
  /** Streams per second that the peer may break off, or make us break off; undefined: all. */
  readonly resets?: Rate
  /**
   * PING frames per second; the same for SETTINGS, for priorities, and for DATA that is empty and not
   * the last.
   */
  readonly controlFrames: Rate
  /**
   * Bytes per second of WINDOW_UPDATE; the same for all else that is neither head nor body, and not
   * counted one by one.
   */
  readonly overhead: Rate
}

/** What one client may ask of one HTTP/2 connection. */
export interface Http2Limits extends ServerLimits, FloodLimits {
  /** Streams at the same time; the client is told, and more are rejected. */
  readonly streams: number
  /** Bytes of one body that a client may send before somebody reads them. */
  readonly streamWindow: number
  /** The same for all bodies of a connection together. */
  readonly connectionWindow: number
  /** Bytes of the longest frame that a client may send. */
  readonly frame: number
  /** Whether texts of heads are Huffman-coded. */
  readonly codesTexts: boolean
  /** Bytes that may wait for a client that does not read; until it does, nothing is read of it. */
  readonly unread: number
  /** Milliseconds between signs of life, and how long to wait for one that was asked for. */
  readonly pingInterval: number
  readonly pingTimeout: number
}

export interface Rate {
  readonly perSecond: number
  /** How much may come at once. */
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

/** Milliseconds that a client has for a response that came before its request was whole. */
export const LINGER = 1_000

/** RFC 9113 §6.5.2: what a head may have, of which each field counts 32 bytes more than it has. */
export function listSizeOf({ head, fields }: Pick<HeadLimits, 'head' | 'fields'>): number {
  return head + (fields + 4) * 32
}

/** What a peer sent too much of, so that its connection ended. */
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

/** What is counted of HTTP/2 connections; words are stable, metrics have them. */
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
 * Why the gateway reset a stream: more of them than it told the client, an exchange that it cut
 * short, a client that was too slow, a message that is none, or a response that was complete before
 * its request was.
 */
export type ResetReason = 'refused' | 'aborted' | 'timeout' | 'malformed' | 'complete'

/** What a peer did wrong, so that its connection ended: the code of its GOAWAY. */
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

/** A bucket of tokens: what came in a burst has to be made up for. */
export class Allowance {
  readonly #rate: Rate
  #left: number
  #at: number

  constructor(rate: Rate, now: number = performance.now()) {
    this.#rate = rate
    this.#left = rate.burst
    this.#at = now
  }

  /** False: more than is allowed. */
  spend(amount: number, now: number = performance.now()): boolean {
    const { perSecond, burst } = this.#rate
    this.#left = Math.min(burst, this.#left + ((now - this.#at) / 1000) * perSecond) - amount
    this.#at = now
    return this.#left >= 0
  }
}
