// HOT PATH: one pass over a request head; it allocates its string, the path and little else.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-request.plain.ts on any input.
// Liberties: one object for all requests of a connection; strings of the last request are reused.

import { latin1Text } from '../latin1.ts'
import { ASTERISK, SLASH } from './ascii.ts'
import { EXPECT, HOST, TE } from './field-names.ts'
import {
  areBytes,
  beginFields,
  type Fields,
  fieldValue,
  firstOf,
  hasBytes,
  hasValue,
  isRepeated,
  readFields,
} from './fields.ts'
import { parseAuthority } from './host.ts'
import { lowerNames } from './lower-names.ts'
import { type HeadLimits, MessageHead, readConnection, readFraming } from './message.ts'
import { reject } from './rejections.ts'
import { beginRequestLine, RequestLine, readRequestLine } from './request-line.ts'

/** RFC 9112 §3.2 */
export type TargetForm = 'origin' | 'absolute' | 'authority' | 'asterisk'

/**
 * A request head. One object serves all requests of a connection in turn: it is valid until the
 * next head is read into it, and does not need the bytes that it was read from.
 */
export class RequestHead extends MessageHead {
  method = ''
  form: TargetForm = 'origin'
  /** The scheme of the absolute form; empty for other forms. */
  scheme: '' | 'http' | 'https' = ''
  /** As written, `/` if the absolute form has no path, `*`, or empty for the authority form. */
  path = ''
  /** As written with its question mark, or empty. */
  query = ''
  /** In lower case, without the port; empty if an HTTP/1.0 request has none. */
  host = ''
  /** The port after the host as written, or 0. */
  port = 0
  /** Whether the client waits for 100 (Continue) before it sends the body. */
  expectContinue = false
  /** Whether the client accepts trailer fields. */
  takesTrailers = false
  /** The bytes that host and port were parsed from. */
  authority: Uint8Array = NO_BYTES
  /** Set if names are written in lower case: received ones and added ones. */
  lowersNames = false
  /** Hides the trailers that are not forwarded; set by the handler of the request. */
  filterTrailers: ((trailers: Fields) => void) | undefined = undefined
  readonly line: RequestLine = new RequestLine()
  /** Whether the request line is complete. */
  inFields = false
}

/**
 * Reads a request head from `bytes` between `start` and `end`. Returns the offset after it, 0 if
 * more bytes are needed, or a rejection for ./rejections.ts. After 0, call it again with the same
 * head and at least the same bytes from `start` on, which may have moved; after any other result, a
 * new head begins.
 */
export function readRequestHead(
  bytes: Buffer,
  start: number,
  end: number,
  limits: HeadLimits,
  head: RequestHead,
): number {
  // Bytes beyond the limit are not read, so that the result does not depend on segmentation.
  const seen = Math.min(end, start + limits.head)
  let at = 1
  if (!head.inFields) {
    at = readRequestLine(head.line, bytes, start, seen, limits.target)
    if (at > 0) {
      head.inFields = true
      beginFields(head.fields, at - start)
    }
  }
  if (at > 0) at = readFields(head.fields, bytes, start, seen, limits.fields)
  if (at === 0) {
    if (end - start < limits.head) return 0
    at = reject('head-too-large')
  }
  if (at > 0) {
    head.fields.text = latin1Text(bytes, start, at)
    const verdict = understand(head, bytes, start)
    if (verdict < 0) at = verdict
    if (head.lowersNames) lowerNames(head.fields)
  }
  beginRequestLine(head.line)
  head.inFields = false
  return at
}

/** Interprets the lines. Returns 1 or a rejection. */
function understand(head: RequestHead, bytes: Buffer, start: number): number {
  const { line, fields } = head
  head.minor = line.minor
  head.method = methodOf(fields.text, line, bytes, start)
  let verdict = readHost(head, bytes, start)
  if (verdict > 0) verdict = readTarget(head)
  if (verdict > 0) verdict = readFraming(head)
  if (verdict > 0) verdict = readConnection(head)
  if (verdict > 0) verdict = readExpect(head)
  head.takesTrailers = firstOf(fields, TE) >= 0 && takesTrailers(fields)
  return verdict
}

const METHODS: readonly string[] =
  'GET HEAD POST PUT DELETE PATCH OPTIONS TRACE CONNECT QUERY PROPFIND REPORT SEARCH PURGE'.split(
    ' ',
  )

const METHOD_BYTES: readonly Uint8Array[] = METHODS.map((method) => Buffer.from(method, 'latin1'))

/** Returns the same string for the same method, so that later comparisons compare pointers. */
function methodOf(text: string, line: RequestLine, bytes: Buffer, start: number): string {
  const from = start + line.method
  const to = start + line.methodEnd
  for (let i = 0; i < METHODS.length; i++) {
    if (areBytes(bytes, from, to, METHOD_BYTES[i] as Uint8Array)) return METHODS[i] as string
  }
  return text.substring(line.method, line.methodEnd)
}

const NO_BYTES = new Uint8Array(0)

function readHost(head: RequestHead, bytes: Buffer, start: number): number {
  const { fields } = head
  const index = firstOf(fields, HOST)
  if (index < 0) {
    head.host = ''
    head.port = 0
    head.authority = NO_BYTES
    // RFC 9112 §3.2: HTTP/1.1 has exactly one.
    return head.minor === 0 ? 1 : reject('missing-host')
  }
  if (isRepeated(fields, HOST)) return reject('duplicate-host')
  // A connection mostly carries requests for one host.
  const isSame = head.authority.length > 0 && hasBytes(fields, index, bytes, start, head.authority)
  if (isSame) return 1
  // A copy: a substring of the head would keep the whole head in memory.
  const written = Buffer.from(fieldValue(fields, index), 'latin1')
  const authority = parseAuthority(written.toString('latin1'))
  if (authority === undefined) return reject('bad-host')
  head.authority = written
  head.host = authority.host
  head.port = authority.port
  return 1
}

function readTarget(head: RequestHead): number {
  const { line, fields } = head
  const { text } = fields
  const first = text.charCodeAt(line.target)
  head.scheme = ''
  head.query = line.query < line.targetEnd ? text.substring(line.query, line.targetEnd) : ''
  if (head.method === 'CONNECT') return readAuthorityForm(head)
  if (first === SLASH) {
    head.form = 'origin'
    head.path = text.substring(line.target, line.query)
    return 1
  }
  if (first !== ASTERISK) return readAbsoluteForm(head)
  if (line.targetEnd - line.target !== 1 || head.method !== 'OPTIONS') return reject('bad-target')
  head.form = 'asterisk'
  head.path = '*'
  return 1
}

function readAuthorityForm(head: RequestHead): number {
  const { line, fields } = head
  const target = fields.text.substring(line.target, line.targetEnd)
  const authority = parseAuthority(target)
  if (authority === undefined || authority.port === 0) return reject('bad-target')
  head.form = 'authority'
  head.path = ''
  return agree(head, target)
}

function readAbsoluteForm(head: RequestHead): number {
  const { line, fields } = head
  const target = fields.text.substring(line.target, line.targetEnd)
  const found = /^(https?):\/\/([^/?]*)([^?]*)/i.exec(target)
  if (found === null) return reject('bad-target')
  const [, scheme = '', authority = '', path = ''] = found
  head.scheme = scheme.toLowerCase() === 'https' ? 'https' : 'http'
  // RFC 9112 §3.2.4: without a path, OPTIONS is about the server itself.
  const isServer = path === '' && head.query === '' && head.method === 'OPTIONS'
  head.form = isServer ? 'asterisk' : 'absolute'
  head.path = isServer ? '*' : path || '/'
  return agree(head, authority)
}

/** Rules, routes and the upstream use one host: the target and Host must agree. */
function agree(head: RequestHead, text: string): number {
  const authority = parseAuthority(text)
  if (authority === undefined) return reject('bad-target')
  if (firstOf(head.fields, HOST) >= 0) {
    const isSame = authority.host === head.host && portOf(authority, head) === portOf(head, head)
    return isSame ? 1 : reject('host-mismatch')
  }
  head.host = authority.host
  head.port = authority.port
  return 1
}

/** RFC 9110 §4.2.3: an omitted port equals the default port of the scheme. */
function portOf({ port }: { readonly port: number }, { scheme }: RequestHead): number {
  if (port !== 0 || scheme === '') return port
  return scheme === 'https' ? 443 : 80
}

function readExpect(head: RequestHead): number {
  const { fields } = head
  const index = firstOf(fields, EXPECT)
  head.expectContinue = false
  if (index < 0) return 1
  if (isRepeated(fields, EXPECT) || !hasValue(fields, index, '100-continue')) {
    return reject('unknown-expectation')
  }
  // RFC 9110 §10.1.1: ignored in HTTP/1.0; without a body there is nothing to wait for.
  head.expectContinue = head.minor === 1 && head.framing !== 'none'
  return 1
}

function takesTrailers(fields: Fields): boolean {
  for (let i = 0; i < fields.count; i++) {
    if (
      fields.kinds[i] === TE &&
      /(?:^|,)[ \t]*trailers[ \t]*(?:,|$)/i.test(fieldValue(fields, i))
    ) {
      return true
    }
  }
  return false
}
