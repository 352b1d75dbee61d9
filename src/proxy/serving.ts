import type { Source } from '../exchange/connection.ts'
import type { ClosingWord } from '../wire/downstream.ts'
import type { ConnectionError, Http2Count, Http2Observer } from '../wire/http2/limits.ts'
import type { StreamEnd } from './stream-types.ts'

export type WireProtocol = 'http1' | 'http2' | 'tls' | 'tcp'

/** Why a connection that was served ended. */
export type ClosedWord = StreamEnd | ClosingWord | 'drain' | 'removed' | 'limit'

/** Counts what happens on a connection while it is served. */
export interface Serving extends Http2Observer {
  /** Bytes since the last call, without those of TLS. */
  moved(received: number, sent: number): void
  closed(reason: ClosedWord): void
  /** `source`: the client, if it is known. */
  counted(what: Http2Count, source?: Source): void
  failed(error: ConnectionError, source?: Source): void
}

/** HTTP/2 events that end the connection. */
export const CLOSED_BY: { readonly [what in Http2Count]?: ClosedWord } = {
  'too-many-resets': 'limit',
  'too-many-pings': 'limit',
  'too-many-settings': 'limit',
  'too-many-priorities': 'limit',
  'too-many-empty-frames': 'limit',
  'too-many-window-updates': 'limit',
  'too-much-overhead': 'limit',
  'too-many-header-frames': 'limit',
  'too-much-unread': 'limit',
  idle: 'idle',
  'no-preface': 'timeout',
  'ping-timeout': 'timeout',
  'session-error': 'error',
}
