// HOT PATH: outgoing heads, assembled from few long slices of the received head.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-write.plain.ts on any input.
// Liberties: an unchanged first line is part of the first slice; counted loops.

import { DEL, SLASH, SPACE } from './ascii.ts'
import { type FieldLines, isFieldText, isOfSet, type NameSet, NO_LINES } from './field-lines.ts'
import { DATE, HIDDEN, HOST, TRAILER } from './field-names.ts'
import { type Fields, firstOf, lineOf } from './fields.ts'
import type { RequestHead } from './head.ts'
import { lowerLines } from './lower-names.ts'
import type { Framing } from './message.ts'
import { reasonOf } from './reasons.ts'
import type { ResponseHead } from './response-head.ts'

/*
 * Heads are strings with one character for each byte, to be written as latin1. Everything in a
 * received head is copied except hop-by-hop fields, fields named by Connection, and framing, which
 * is written only here, according to the actual body. There is no Via: RFC 9110 §7.6.3 requires it,
 * but servers respond differently to it (no compression), and no comparable gateway sends it;
 * operators who need it can add the line.
 */

/** The parts that every outgoing message needs. */
interface Outgoing {
  readonly framing: Framing
  /** Written as Content-Length unless the framing is chunked; -1 for none. */
  readonly length: number
  /** Added lines. */
  readonly lines: FieldLines
  /** The protocol for Upgrade, or empty. */
  readonly upgrade: string
}

export interface OutgoingRequest extends Outgoing {
  readonly path: string
  /** With its question mark, or empty. */
  readonly query: string
  /** Empty: the host of the received request. */
  readonly host: string
  readonly expectContinue: boolean
  /** Fields that are not copied. */
  readonly dropped: NameSet
}

export interface OutgoingReply extends Outgoing {
  /** Empty: no field; HTTP/1.1 connections persist by default. */
  readonly connection: '' | 'close' | 'keep-alive'
  /** From `dateLine`; ignored if the response has a Date. */
  readonly date: FieldLines
}

export interface OutgoingResponse extends OutgoingReply {
  /** Fields that are not copied. */
  readonly dropped: NameSet
}

/** The head for the upstream; empty if path, query or host cannot be written safely. */
export function renderRequestHead(head: RequestHead, out: OutgoingRequest): string {
  const { fields, line } = head
  const { path, query, host, upgrade } = out
  if (out.framing === 'close') throw new RangeError('a request cannot end with its connection')
  if (!isWritable(head, out)) return ''
  const isSameLine = isOfHead(head, out) && head.minor === 1
  const keepsHost = host === '' && firstOf(fields, HOST) >= 0
  let from = line.method
  let text = ''
  if (!isSameLine || !keepsHost) {
    from = lineOf(fields, 0)
    text = `${head.method} ${path}${query} HTTP/1.1\r\n`
    if (!keepsHost) text += `host: ${host || hostOf(head)}\r\n`
  }
  text += copyFields(fields, from, out.dropped, keepsHost, out.framing === 'chunked')
  text += framingLine(out)
  if (out.expectContinue) text += 'expect: 100-continue\r\n'
  if (upgrade !== '') text += `connection: upgrade\r\nupgrade: ${upgrade}\r\n`
  else if (head.takesTrailers) text += 'connection: te\r\nte: trailers\r\n'
  return `${text}${head.lowersNames ? lowerLines(out.lines) : out.lines}\r\n`
}

/** Whether path, query, host and protocol can be written safely, in any version. */
export function isWritable(head: RequestHead, out: OutgoingRequest): boolean {
  if (!isOfHead(head, out) && !isTarget(out.path, out.query)) return false
  return isVisible(out.host) && isFieldText(out.upgrade)
}

function isOfHead(head: RequestHead, { path, query }: OutgoingRequest): boolean {
  return path === head.path && query === head.query && head.form === 'origin'
}

/** For a target in absolute form, since an HTTP/1.0 request may have the host only there. */
export function hostOf({ host, port }: RequestHead): string {
  return port === 0 ? host : `${host}:${port}`
}

/** A response head for the client, interim ones included; empty if it cannot be written. */
export function renderResponseHead(head: ResponseHead, out: OutgoingResponse): string {
  const { fields, status } = head
  if (!isFieldText(out.upgrade)) return ''
  const isSameLine = head.minor === 1 && fields.text.charCodeAt(12) === SPACE
  const line = isSameLine ? '' : `HTTP/1.1 ${status} ${head.reason}\r\n`
  const from = isSameLine ? 0 : lineOf(fields, 0)
  const copied = copyFields(fields, from, out.dropped, false, out.framing === 'chunked')
  const hasDate = firstOf(fields, DATE) >= 0 || status < 200
  return `${line}${copied}${hasDate ? '' : out.date}${replyLines(status, out)}`
}

/** The head of a response of the gateway itself; empty if it cannot be written. */
export function renderReplyHead(status: number, out: OutgoingReply): string {
  if (!isFieldText(out.upgrade)) return ''
  const date = status < 200 ? '' : out.date
  return `HTTP/1.1 ${status} ${reasonOf(status)}\r\n${date}${replyLines(status, out)}`
}

function replyLines(status: number, out: OutgoingReply): string {
  const { connection, upgrade } = out
  // RFC 9110 §8.6: neither an interim response nor 204 has a length.
  let text = status < 200 || status === 204 ? '' : framingLine(out)
  const said = status < 200 ? '' : connection
  if (upgrade !== '') text += `connection: upgrade${said && ', '}${said}\r\nupgrade: ${upgrade}\r\n`
  else if (said !== '') text += `connection: ${said}\r\n`
  return `${text}${out.lines}\r\n`
}

/** The head from `from` on, without the lines that must not be copied. */
function copyFields(
  fields: Fields,
  from: number,
  dropped: NameSet,
  keepsHost: boolean,
  keepsTrailer: boolean,
): string {
  let text = ''
  let copied = from
  for (let i = 0; i < fields.count; i++) {
    const kind = fields.kinds[i] as number
    if (kind < HIDDEN) {
      if ((kind !== TRAILER || keepsTrailer) && !isOfSet(dropped, fields, i)) continue
    } else if (kind === HOST && keepsHost) continue
    const at = lineOf(fields, i)
    if (at > copied) text += fields.text.substring(copied, at)
    copied = lineOf(fields, i + 1)
  }
  return text + fields.text.substring(copied, lineOf(fields, fields.count))
}

function framingLine({ framing, length }: Outgoing): string {
  if (framing === 'chunked') return 'transfer-encoding: chunked\r\n'
  if (framing === 'length' && !(Number.isSafeInteger(length) && length >= 0)) {
    throw new RangeError(`a body of ${length} bytes`)
  }
  return length < 0 ? '' : `content-length: ${length}\r\n`
}

function isTarget(path: string, query: string): boolean {
  if (!isVisible(path) || !isVisible(query)) return false
  return (path.charCodeAt(0) === SLASH || path === '*') && (query === '' || query[0] === '?')
}

/** Whether the string is visible ASCII or empty, as targets and hosts must be. */
function isVisible(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= SPACE || code >= DEL) return false
  }
  return true
}

let dated = -1
let date = NO_LINES

/** The Date line for a time in milliseconds, rendered once per second. */
export function dateLine(now: number): FieldLines {
  const second = Math.floor(now / 1000)
  if (second !== dated) {
    dated = second
    date = `date: ${new Date(second * 1000).toUTCString()}\r\n` as FieldLines
  }
  return date
}
