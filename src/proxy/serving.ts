import type { ClosingWord } from '../wire/downstream.ts'
import type { Http2Count, Http2Observer } from '../wire/http2/limits.ts'
import type { StreamEnd } from './stream-types.ts'

export type WireProtocol = 'http1' | 'http2' | 'tls' | 'tcp'

/** Why a connection ended that was served. */
export type ClosedWord = StreamEnd | ClosingWord | 'drain' | 'removed' | 'limit'

/** Who counts what happens on a connection while it is served. */
export interface Serving extends Http2Observer {
  /** Bytes since the last time, without those of TLS. */
  moved(received: number, sent: number): void
  closed(reason: ClosedWord): void
}

/** What of HTTP/2 ends the connection. */
export const CLOSED_BY: { readonly [what in Http2Count]?: ClosedWord } = {
  'too-many-resets': 'limit',
  'too-many-control-frames': 'limit',
  'too-much-overhead': 'limit',
  idle: 'idle',
  'no-preface': 'timeout',
  'ping-timeout': 'timeout',
  'session-error': 'error',
}
