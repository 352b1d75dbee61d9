// HOT PATH: heads of responses on their way to a client of HTTP/2. Guarded by bench/proxy.ts.
// Liberties: lines of a received head go to the encoder as they are, which knows most of them, and
// a head that is the same as the last one is written as it was.

import { type FieldLines, isOfSet, type NameSet } from '../http1/field-lines.ts'
import { DATE, HIDDEN, TRAILER } from '../http1/field-names.ts'
import { firstOf, hasName, lineOf } from '../http1/fields.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import { dateLine } from '../http1/write.ts'
import type { HpackEncoder } from './hpack-encoder.ts'

/** In place of a length, which is -1 where none is known. */
const OPEN_ENDED = -2

/** A received response: all in lower case, nothing of its old connection. */
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
    // A date of ours is another one soon.
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
    // RFC 9110 §8.6: neither an interim response nor 204 has a length; of 205 no content is sent.
    if (!isOpenEnded && length >= 0 && status !== 204 && status !== 205)
      encoder.field('content-length', String(length))
  }
}

/** What a WebSocket's 101 is in HTTP/2 (RFC 8441 §5): 200, and no response to a key. */
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

/** A response of our own; `length` below 0 for one that has no body by its status. */
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

/** Lines that are added to a head. */
export function encodeLines(encoder: HpackEncoder, lines: FieldLines): void {
  for (let at = 0; at < lines.length; ) {
    const end = lines.indexOf('\r\n', at)
    if (end > at) encoder.line(lines.substring(at, end))
    at = end + 2
  }
}
