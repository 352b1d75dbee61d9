// HOT PATH: encodes heads of responses to an HTTP/2 client. Guarded by bench/proxy.ts.
// Liberties: lines of a received head go to the encoder unchanged, which has most of them in its
// table, and a head that equals the last one is written from the cached block.

import { type FieldLines, isOfSet, type NameSet } from '../http1/field-lines.ts'
import { DATE, HIDDEN, TRAILER } from '../http1/field-names.ts'
import { firstOf, hasName, lineOf } from '../http1/fields.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import { dateLine } from '../http1/write.ts'
import type { HpackEncoder } from './hpack-encoder.ts'

/** Replaces the length, which is -1 if unknown, of a body that ends with the stream. */
const OPEN_ENDED = -2

/** Encodes a received response: names in lower case, no connection-specific fields. */
export function encodeResponse(
  encoder: HpackEncoder,
  head: ResponseHead,
  dropped: NameSet,
  lines: FieldLines,
): void {
  const isOpenEnded = head.framing === 'chunked' || head.framing === 'close'
  const length = isOpenEnded ? OPEN_ENDED : head.length
  const { fields, status } = head
  if (!encoder.repeat(fields.text, dropped, status, length)) {
    const { inserted } = encoder
    encodeHead(encoder, head, dropped, isOpenEnded)
    // Not cached without the upstream's Date: the one that the gateway adds changes soon.
    if (firstOf(fields, DATE) >= 0) encoder.keep(fields.text, dropped, status, length, inserted)
  }
  encodeLines(encoder, lines)
}

function encodeHead(
  encoder: HpackEncoder,
  { fields, status, length }: ResponseHead,
  dropped: NameSet,
  isOpenEnded: boolean,
): void {
  encoder.begin()
  encoder.status(status)
  for (let i = 0; i < fields.count; i++) {
    const kind = fields.kinds[i] as number
    if (kind >= HIDDEN || (kind === TRAILER && !isOpenEnded)) continue
    if (isOfSet(dropped, fields, i)) continue
    encoder.line(fields.text.substring(lineOf(fields, i), lineOf(fields, i + 1) - 2))
  }
  if (status >= 200) {
    if (firstOf(fields, DATE) < 0) encodeLines(encoder, dateLine(Date.now()))
    // RFC 9110 §8.6: neither an interim response nor 204 has a length; a 205 has no content.
    if (!isOpenEnded && length >= 0 && status !== 204 && status !== 205)
      encoder.field('content-length', String(length))
  }
}

/** The HTTP/2 form of a WebSocket's 101 (RFC 8441 §5): 200, without a response to the key. */
export function encodeSwitch(
  encoder: HpackEncoder,
  { fields }: ResponseHead,
  dropped: NameSet,
  lines: FieldLines,
): void {
  encoder.begin()
  encoder.status(200)
  for (let i = 0; i < fields.count; i++) {
    if ((fields.kinds[i] as number) >= HIDDEN || isOfSet(dropped, fields, i)) continue
    if (hasName(fields, i, 'sec-websocket-accept')) continue
    encoder.line(fields.text.substring(lineOf(fields, i), lineOf(fields, i + 1) - 2))
  }
  encodeLines(encoder, lines)
}

/** A response of the gateway itself; `length` is negative if its status forbids a body. */
export function encodeReply(
  encoder: HpackEncoder,
  status: number,
  lines: FieldLines,
  length: number,
): void {
  encoder.begin()
  encoder.status(status)
  if (status >= 200) encodeLines(encoder, dateLine(Date.now()))
  if (length >= 0) encoder.field('content-length', String(length))
  encodeLines(encoder, lines)
}

/** Encodes added lines. */
export function encodeLines(encoder: HpackEncoder, lines: FieldLines): void {
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf('\r\n', at)
    if (end > at) encoder.line(lines.substring(at, end))
    at = end + 2
  }
}
