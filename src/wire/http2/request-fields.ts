// HOT PATH: heads of requests on their way to an upstream of HTTP/2. Guarded by bench/proxy.ts.
// Liberties: lines go to the encoder as they are, which knows most of them.

import { createHash } from 'node:crypto'
import { isOfSet } from '../http1/field-lines.ts'
import { HIDDEN, HOST, isSameName, TRAILER } from '../http1/field-names.ts'
import { fieldValue, firstOf, lineOf } from '../http1/fields.ts'
import type { RequestHead } from '../http1/head.ts'
import { unpadded } from '../http1/padding.ts'
import { hostOf, type OutgoingRequest } from '../http1/write.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { encodeLines } from './response-fields.ts'

/** What a head of HTTP/1.1 says, in the words of HTTP/2. */
export interface OutgoingHead {
  readonly path: string
  readonly authority: string
  /** The body comes with chunk framing, which must be taken off again. */
  readonly isChunked: boolean
  /** What the request wants to switch to, in lower case; mostly nothing. */
  readonly upgrade: string
  /** Lines of the other fields. */
  readonly lines: readonly string[]
}

/** Takes apart a request head that ../http1/write.ts rendered. */
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
    // The one that is left is `te`, which says so by itself here.
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

/** A received head, as ../http1/write.ts would write it, without the text in between. */
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

/** As it was asked for. */
function authorityOf(head: RequestHead): string {
  const at = firstOf(head.fields, HOST)
  return at >= 0 ? fieldValue(head.fields, at) : hostOf(head)
}

/** RFC 6455 §1.3 */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/**
 * A WebSocket's handshake as HTTP/2 has it (RFC 8441 §5): the method is CONNECT, the protocol says
 * what for, and the key and its response, which prove nothing here that HTTP/2 does not, are left
 * out. The client of HTTP/1.1 wants them still: returns the lines of the 101 that nobody says in
 * HTTP/2.
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
