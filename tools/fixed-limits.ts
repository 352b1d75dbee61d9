import { MAX_BODIES } from '../src/proxy/body-room.ts'
import { MAX_WAITING } from '../src/proxy/mirror.ts'
import { LONGEST_TARGET, STREAM_IDLE } from '../src/proxy/port-plan.ts'
import { BODY_LIMITS } from '../src/wire/http1/chunked.ts'
import { HALF_CLOSED } from '../src/wire/http1/close-grace.ts'
import { MAX_INTERIM } from '../src/wire/http1/response-head.ts'
import { MAX_FRAMES } from '../src/wire/http2/header-blocks.ts'
import { TABLE_SIZE } from '../src/wire/http2/hpack-decoder.ts'
import { HTTP2_LIMITS } from '../src/wire/http2/limits.ts'
import { MAX_EXTENDED } from '../src/wire/http2/receive-window.ts'

/** What cannot be set: of what, how much, and what happens at the limit. */
export const FIXED_LIMITS: readonly (readonly [string, string, string])[] = [
  ['bytes of the target in a request line', number(LONGEST_TARGET), `The client gets 414.`],
  ['bytes of chunk extensions in a body', number(BODY_LIMITS.extensions), `The client gets 400.`],
  ['bytes of a trailer section', number(BODY_LIMITS.trailers), `The client gets 431.`],
  ['fields of a trailer section', number(BODY_LIMITS.trailerFields), `The client gets 431.`],
  [
    'bytes of all bodies that rules of one process wait for',
    `${MAX_BODIES} times \`maxBufferSize\``,
    `The client gets 503 with \`Retry-After\`, the connection closes.`,
  ],
  [
    'interim responses (`103`) of a backend before the final one',
    number(MAX_INTERIM),
    `The client gets 502.`,
  ],
  [
    'time without a byte of its response for a client that closed its side after its request',
    `${HALF_CLOSED / 1_000}s`,
    'The connection is closed, and the backend is let go.',
  ],
  [
    'bytes in a second of WINDOW_UPDATE frames on an HTTP/2 connection; those that follow from responses are free',
    `${number(HTTP2_LIMITS.overhead.perSecond)}; ${number(HTTP2_LIMITS.overhead.burst)} at once`,
    'The connection closes with ENHANCE_YOUR_CALM.',
  ],
  [
    'the same of other frames that are neither head nor body',
    `${number(HTTP2_LIMITS.overhead.perSecond)}; ${number(HTTP2_LIMITS.overhead.burst)} at once`,
    'The connection closes with ENHANCE_YOUR_CALM.',
  ],
  [
    'frames of one header block of HTTP/2, HEADERS and CONTINUATION',
    number(MAX_FRAMES),
    'The connection closes with ENHANCE_YOUR_CALM.',
  ],
  [
    'bytes of the table that HPACK keeps for each direction of a connection',
    number(TABLE_SIZE),
    'A client that makes it larger breaks the protocol: the connection closes with COMPRESSION_ERROR.',
  ],
  [
    'bytes by which all HTTP/2 connections of a worker may exceed `http2ConnectionWindowSize`, so that bodies that wait for a backend do not keep back others of their connection',
    number(MAX_EXTENDED),
    'The bodies of a connection wait for each other.',
  ],
  [
    'bytes of an HTTP/2 connection that wait for a client that does not read',
    number(HTTP2_LIMITS.unread),
    'Nothing more is read of the connection until the client has read; after `bodyTimeout` it closes.',
  ],
  [
    'bytes that wait for a mirror that is slow',
    number(MAX_WAITING),
    'The mirror gets no more of this request.',
  ],
  [
    'time without a byte on a TCP or TLS listener',
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
