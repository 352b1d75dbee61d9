// HOT PATH: encodes heads of requests to an HTTP/2 upstream. Guarded by bench/proxy.ts.
// Liberties: lines go to the encoder unchanged, which has most of them in its table.

import { createHash } from 'node:crypto'
import { isOfSet } from '../http1/field-lines.ts'
import { HIDDEN, HOST, isSameName, TRAILER } from '../http1/field-names.ts'
import { fieldValue, firstOf, lineOf } from '../http1/fields.ts'
import type { RequestHead } from '../http1/head.ts'
import { unpadded } from '../http1/padding.ts'
import { hostOf, type OutgoingRequest } from '../http1/write.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { encodeLines } from './response-fields.ts'

/** The content of an HTTP/1.1 head, in HTTP/2 terms. */
export interface OutgoingHead {
  readonly path: string
  readonly authority: string
  /** The body has chunk framing, which must be removed. */
  readonly isChunked: boolean
  /** The protocol to upgrade to, in lower case; usually empty. */
  readonly upgrade: string
  /** The lines of the other fields. */
  readonly lines: readonly string[]
}

/** Parses a request head that ../http1/write.ts rendered. */
export function readOutgoingHead(head: string): OutgoingHead {
  const pathAt = head.indexOf(' ') + 1
  const path = head.substring(pathAt, head.indexOf(' ', pathAt))
  const lines: string[] = []
  let authority = ''
  let isChunked = false
  let upgrade = ''
  for (let at = head.indexOf('\r\n') + 2; ; ) {
    const end = head.indexOf('\r\n', at)
    if (end <= at) break
    const colon = head.indexOf(':', at)
    const length = colon - at
    if (length === 4 && isSameName(head, at, colon, 'host'))
      authority = unpadded(head.substring(colon + 1, end))
    else if (length === 17 && isSameName(head, at, colon, 'transfer-encoding')) isChunked = true
    else if (length === 7 && isSameName(head, at, colon, 'upgrade'))
      upgrade = unpadded(head.substring(colon + 1, end)).toLowerCase()
    // The only remaining connection option is `te`, which needs no announcement in HTTP/2.
    else if (length !== 10 || !isSameName(head, at, colon, 'connection'))
      lines.push(head.substring(at, end))
    at = end + 2
  }
  return { path, authority, isChunked, upgrade, lines }
}

export function encodeRequest(
  encoder: HpackEncoder,
  method: string,
  scheme: 'http' | 'https',
  authority: string,
  { path, lines }: OutgoingHead,
): void {
  encoder.begin()
  encoder.request(method, scheme, path)
  encoder.field(':authority', authority)
  for (let i = 0; i < lines.length; i++) encoder.line(lines[i] as string)
}

/**
 * Encodes a received head as ../http1/write.ts would render it, without the intermediate string.
 */
export function encodeReceived(
  encoder: HpackEncoder,
  head: RequestHead,
  out: OutgoingRequest,
  scheme: 'http' | 'https',
  ownName: string,
): void {
  const { fields } = head
  const isChunked = out.framing === 'chunked'
  encoder.begin()
  encoder.request(head.method, scheme, out.query === '' ? out.path : out.path + out.query)
  encoder.field(':authority', out.host || authorityOf(head) || ownName)
  for (let i = 0; i < fields.count; i++) {
    const kind = fields.kinds[i] as number
    if (kind >= HIDDEN || (kind === TRAILER && !isChunked)) continue
    if (isOfSet(out.dropped, fields, i)) continue
    encoder.line(fields.text.substring(lineOf(fields, i), lineOf(fields, i + 1) - 2))
  }
  if (!isChunked && out.length >= 0) encoder.field('content-length', String(out.length))
  if (head.takesTrailers) encoder.field('te', 'trailers')
  encodeLines(encoder, out.lines)
}

/** The authority of the received request. */
function authorityOf(head: RequestHead): string {
  const at = firstOf(head.fields, HOST)
  return at >= 0 ? fieldValue(head.fields, at) : hostOf(head)
}

/** RFC 6455 §1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * Encodes a WebSocket handshake for HTTP/2 (RFC 8441 §5): the method is CONNECT, `:protocol` names
 * the protocol, and the key and its response are omitted, since HTTP/2 already proves what they
 * would. HTTP/1.1 clients still require them: returns the lines of the 101 that HTTP/2 does not
 * send.
 */
export function encodeConnect(
  encoder: HpackEncoder,
  scheme: 'http' | 'https',
  authority: string,
  { path, lines }: OutgoingHead,
): string {
  let key = ''
  encoder.begin()
  encoder.request('CONNECT', scheme, path)
  encoder.field(':protocol', 'websocket')
  encoder.field(':authority', authority)
  for (const line of lines) {
    const colon = line.indexOf(':')
    if (isSameName(line, 0, colon, 'sec-websocket-key')) key = unpadded(line.slice(colon + 1))
    else encoder.line(line)
  }
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64')
  return `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-accept: ${accept}\r\n`
}
