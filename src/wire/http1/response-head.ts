// HOT PATH: one pass over a response head, as strict as for requests: rejections become a 502.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-response.plain.ts on any input.
// Liberties: one object for all responses of a connection.

import { latin1Text } from '../latin1.ts'
import { CR, LF, SPACE, ZERO } from './ascii.ts'
import { beginFields, endOfText, readFields, rejectText } from './fields.ts'
import { type HeadLimits, MessageHead, readConnection, readFraming } from './message.ts'
import { reject } from './rejections.ts'
import { readVersion } from './request-line.ts'

/**
 * A response head. One object serves all responses of a connection, interim ones included: it is
 * valid until the next head is read into it, and does not need the bytes that it was read from.
 */
export class ResponseHead extends MessageHead {
  status = 0
  reason = ''
  /** Offsets of the status line, from the start of the head. */
  reasonAt = 0
  reasonEnd = 0
  /** How far the reason phrase has been checked. */
  at = 0
  phase: number = AT_STATUS
}

/** The states of the reader. */
const AT_STATUS = 0
const IN_REASON = 1
const IN_FIELDS = 2

/** Per request; an unlimited number could continue for as long as the client waits. */
export const MAX_INTERIM = 64

/** 100 to 199 except 101: more heads follow before the response itself. */
export function isInterim(head: ResponseHead): boolean {
  return head.status < 200 && head.status !== 101
}

/**
 * Reads a response head, like readRequestHead for requests. `method` is that of the request: it
 * affects the framing (RFC 9112 §6.3).
 */
export function readResponseHead(
  bytes: Buffer,
  start: number,
  end: number,
  limits: HeadLimits,
  method: string,
  head: ResponseHead,
): number {
  const seen = Math.min(end, start + limits.head)
  let at = 1
  if (head.phase !== IN_FIELDS) {
    at = readStatusLine(bytes, start, seen, head)
    if (at > 0) {
      head.phase = IN_FIELDS
      beginFields(head.fields, at - start)
    }
  }
  if (at > 0) at = readFields(head.fields, bytes, start, seen, limits.fields)
  if (at === 0) {
    if (end - start < limits.head) return 0
    at = reject('head-too-large')
  }
  if (at > 0) {
    const text = latin1Text(bytes, start, at)
    head.fields.text = text
    head.reason = text.substring(head.reasonAt, head.reasonEnd)
    const verdict = understand(head, method)
    if (verdict < 0) at = verdict
  }
  head.phase = AT_STATUS
  return at
}

/** `HTTP/1.1 200 OK`; the space after the status may be missing, as it often is. */
function readStatusLine(bytes: Buffer, start: number, end: number, head: ResponseHead): number {
  if (head.phase === AT_STATUS) {
    const version = readVersion(bytes, start, end, 'bad-status-line')
    if (version <= 0) return version
    for (let i = 8; i < 12; i++) {
      if (start + i >= end) return 0
      const byte = bytes[start + i] as number
      const digit = byte - ZERO
      // RFC 9110 §15: 600 to 999 are not valid, but in use; clients treat them as 5xx.
      const isFitting = i === 8 ? byte === SPACE : digit >= 0 && digit <= 9 && (i > 9 || digit > 0)
      if (!isFitting) return rejectText(byte, 'bad-status-line')
    }
    if (start + 12 === end) return 0
    const hundreds = (bytes[start + 9] as number) - ZERO
    const tens = (bytes[start + 10] as number) - ZERO
    head.status = hundreds * 100 + tens * 10 + (bytes[start + 11] as number) - ZERO
    head.minor = version - 10
    const byte = bytes[start + 12] as number
    if (byte !== SPACE && byte !== CR) return rejectText(byte, 'bad-status-line')
    head.reasonAt = byte === SPACE ? 13 : 12
    head.at = head.reasonAt
    head.phase = IN_REASON
  }
  const at = endOfText(bytes, start + head.at, end)
  head.at = at - start
  if (at === end) return 0
  if (bytes[at] !== CR) return rejectText(bytes[at] as number, 'bad-status-line')
  if (at + 1 === end) return 0
  if (bytes[at + 1] !== LF) return reject('bare-cr')
  head.reasonEnd = at - start
  return at + 2
}

function understand(head: ResponseHead, method: string): number {
  let verdict = readFraming(head, true)
  if (verdict > 0) verdict = readConnection(head)
  if (verdict < 0) return verdict
  const { status } = head
  if (status < 200 || status === 204) {
    // RFC 9112 §6.1 forbids it, and a server that sends it may send chunks too.
    if (head.framing === 'chunked') return reject('transfer-coding-without-body')
    head.framing = 'none'
  } else if (status === 304 || method === 'HEAD') head.framing = 'none'
  else if (head.framing === 'none' && head.length < 0) {
    head.framing = 'close'
    head.keepAlive = false
  }
  return 1
}
