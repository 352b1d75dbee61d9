import { MAX_BODIES, MAX_MODEL_BODIES, MODEL_COPIES } from '../src/proxy/body-room.ts'
import { MAX_WAITING } from '../src/proxy/mirror.ts'
import { MAX_TARGET, STREAM_IDLE } from '../src/proxy/port-plan.ts'
import { MIRROR_IDLE } from '../src/upstream/idle-timeouts.ts'
import { BODY_LIMITS } from '../src/wire/http1/chunked.ts'
import { HALF_CLOSED } from '../src/wire/http1/close-grace.ts'
import { MAX_INTERIM } from '../src/wire/http1/response-head.ts'
import { MAX_FRAMES } from '../src/wire/http2/header-blocks.ts'
import { TABLE_SIZE } from '../src/wire/http2/hpack-decoder.ts'
import { HTTP2_LIMITS } from '../src/wire/http2/limits.ts'
import { MAX_EXTENDED } from '../src/wire/http2/receive-window.ts'

/** Limits that cannot be configured: what is limited, the limit, and what happens at it. */
export const FIXED_LIMITS: readonly (readonly [string, string, string])[] = [
  ['bytes of the request target', number(MAX_TARGET), `The client gets 414.`],
  ['bytes of chunk extensions in a body', number(BODY_LIMITS.extensions), `The client gets 400.`],
  ['bytes of a trailer section', number(BODY_LIMITS.trailers), `The client gets 431.`],
  ['fields of a trailer section', number(BODY_LIMITS.trailerFields), `The client gets 431.`],
  [
    `bytes of all bodies that are buffered for rules, as received and decompressed, per process; those of calls to models count ${MODEL_COPIES} times`,
    `${MAX_BODIES} times \`maxBufferSize\`; for calls to models at least ${MAX_MODEL_BODIES * MODEL_COPIES} times \`maxModelBodySize\``,
    `The client gets 503 with \`Retry-After\`, and the connection is closed.`,
  ],
  [
    'interim responses (`103`) of a backend before the final one',
    number(MAX_INTERIM),
    `The client gets 502.`,
  ],
  [
    'time without a response byte for a client that closed its side of the connection after its request',
    `${HALF_CLOSED / 1_000}s`,
    'The connection is closed, and the request to the backend is cancelled.',
  ],
  [
    'bytes per second of WINDOW_UPDATE frames on an HTTP/2 connection, except those that responses require',
    `${number(HTTP2_LIMITS.overhead.perSecond)}; ${number(HTTP2_LIMITS.overhead.burst)} at once`,
    'The connection is closed with ENHANCE_YOUR_CALM.',
  ],
  [
    'bytes per second of other frames on an HTTP/2 connection, except HEADERS and DATA',
    `${number(HTTP2_LIMITS.overhead.perSecond)}; ${number(HTTP2_LIMITS.overhead.burst)} at once`,
    'The connection is closed with ENHANCE_YOUR_CALM.',
  ],
  [
    'frames of one HTTP/2 header block (HEADERS and CONTINUATION)',
    number(MAX_FRAMES),
    'The connection is closed with ENHANCE_YOUR_CALM.',
  ],
  [
    'bytes of the HPACK table, for each direction of a connection',
    number(TABLE_SIZE),
    'A larger table is a protocol violation: the connection is closed with COMPRESSION_ERROR.',
  ],
  [
    'bytes by which all HTTP/2 connections of a worker together can exceed `http2ConnectionWindowSize`, so that bodies that wait for a backend do not block others on their connection',
    number(MAX_EXTENDED),
    'The bodies of a connection wait for each other.',
  ],
  [
    'bytes buffered for an HTTP/2 client that does not read',
    number(HTTP2_LIMITS.unread),
    'Reading from the connection pauses until the client reads; after `bodyTimeout` the connection is closed.',
  ],
  [
    'bytes buffered for a slow mirror',
    number(MAX_WAITING),
    'The rest of this request is not mirrored.',
  ],
  [
    'time to the response headers of a mirror, and time without bytes of its response',
    seconds(MIRROR_IDLE),
    'The request to the mirror is cancelled.',
  ],
  [
    'idle time of a connection on a TCP or TLS listener',
    seconds(STREAM_IDLE),
    'The connection is closed.',
  ],
]

function number(value: number): string {
  return value.toLocaleString('en-US')
}

function seconds(milliseconds: number): string {
  return `${milliseconds / 1000}s`
}
