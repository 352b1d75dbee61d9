// HOT PATH: converts an HTTP/2 request into an HTTP/1.1 head. Guarded by bench/proxy.ts.
// Liberties: one buffer for the heads of all connections, of which nothing is retained.

import { randomBytes } from 'node:crypto'
import { COLON, DEL, IS_TOKEN, LOWER, SLASH, SPACE } from '../http1/ascii.ts'
import { CONTENT_LENGTH, HOST, kindOfName, PLAIN, TE } from '../http1/field-names.ts'
import { areBytes } from '../http1/fields.ts'
import { type RequestHead, readRequestHead } from '../http1/head.ts'
import { parseAuthority } from '../http1/host.ts'
import type { HeadLimits } from '../http1/message.ts'
import { reject } from '../http1/rejections.ts'
import { isOfConnection } from './connection-fields.ts'
import { type FieldBlock, nameEnd, nameStart, valueEnd, valueStart } from './field-block.ts'

/*
 * The fields of a block are already HTTP/1.1 lines. With a request line before them, they are
 * parsed like any other head, so that there is one set of rules. Bytes that could change the
 * meaning in this conversion, such as a line end in a value, are rejected first.
 */

/** Reads a decoded block. Returns 1 or a rejection. */
export function readHttp2Request(
  block: FieldBlock,
  endsStream: boolean,
  limits: HeadLimits,
  head: RequestHead,
): number {
  if (block.verdict < 0) return block.verdict
  let verdict = sortFields(block)
  if (verdict > 0 && block.isTooLarge) verdict = reject('head-too-large')
  if (verdict > 0) verdict = checkPseudo(block, endsStream)
  if (verdict < 0) return verdict
  const length = render(block, endsStream)
  const at = readRequestHead(rendered, 0, length, limits, head)
  if (at < 0) return at
  // If parsing ended early, the block was not a single head.
  if (at !== length) return reject(at === 0 ? 'head-too-large' : 'bad-header-value')
  if (endsStream && head.framing !== 'none') return reject('truncated-body')
  return 1
}

/** The index of each of these fields in the block, or -1. */
let method = -1
let scheme = -1
let authority = -1
let path = -1
let protocol = -1
let host = -1
let cookies = 0
let hasLength = false
/** The first regular field. */
let firstField = 0

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')
const METHOD = bytesOf(':method')
const SCHEME = bytesOf(':scheme')
const AUTHORITY = bytesOf(':authority')
const PATH = bytesOf(':path')
const PROTOCOL = bytesOf(':protocol')
const WEBSOCKET = bytesOf('websocket')
const WEBSOCKET_KEY = bytesOf('sec-websocket-key')
const COOKIE = bytesOf('cookie')
const HTTP = bytesOf('http')
const HTTPS = bytesOf('https')
const CONNECT = bytesOf('CONNECT')

function sortFields(block: FieldBlock): number {
  const { bytes, count } = block
  method = scheme = authority = path = protocol = host = -1
  cookies = 0
  hasLength = false
  firstField = count
  for (let i = 0; i < count; i++) {
    const from = nameStart(block, i)
    const to = nameEnd(block, i)
    if (bytes[from] === COLON) {
      if (firstField < count || !notePseudo(bytes, from, to, i)) return reject('bad-header-name')
      continue
    }
    if (firstField === count) firstField = i
    const kind = kindOfName(bytes, from, to)
    if (kind === PLAIN) {
      if (to - from === 6 && areBytes(bytes, from, to, COOKIE)) cookies++
      // RFC 8441 §5: there must be none, and the gateway generates the key for the backend.
      else if (protocol >= 0 && areBytes(bytes, from, to, WEBSOCKET_KEY))
        return reject('bad-connection')
    } else if (kind === HOST) {
      if (host >= 0) return reject('duplicate-host')
      host = i
    } else if (kind === CONTENT_LENGTH) hasLength = true
    else if (isOfConnection(kind) || (kind === TE && !isTrailers(block, i)))
      return reject('bad-connection')
  }
  return 1
}

function notePseudo(bytes: Buffer, from: number, to: number, index: number): boolean {
  if (areBytes(bytes, from, to, METHOD)) {
    if (method >= 0) return false
    method = index
  } else if (areBytes(bytes, from, to, PATH)) {
    if (path >= 0) return false
    path = index
  } else if (areBytes(bytes, from, to, SCHEME)) {
    if (scheme >= 0) return false
    scheme = index
  } else if (areBytes(bytes, from, to, AUTHORITY)) {
    if (authority >= 0) return false
    authority = index
  } else if (areBytes(bytes, from, to, PROTOCOL)) {
    if (protocol >= 0) return false
    protocol = index
  } else return false
  return true
}

const TRAILERS = bytesOf('trailers')

function isTrailers(block: FieldBlock, index: number): boolean {
  const from = valueStart(block, index)
  if (valueEnd(block, index) - from !== TRAILERS.length) return false
  for (let i = 0; i < TRAILERS.length; i++)
    if (((block.bytes[from + i] as number) | LOWER) !== TRAILERS[i]) return false
  return true
}

function hasValue(block: FieldBlock, index: number, wanted: Buffer): boolean {
  return areBytes(block.bytes, valueStart(block, index), valueEnd(block, index), wanted)
}

/** RFC 9113 §8.3.1 */
function checkPseudo(block: FieldBlock, endsStream: boolean): number {
  if (method < 0 || !isToken(block, method)) return reject('bad-method')
  if (authority >= 0 && host >= 0) {
    const verdict = agreeOnHost(block)
    if (verdict < 0) return verdict
  }
  const isConnect = hasValue(block, method, CONNECT)
  // §8.5: a CONNECT with more pseudo-headers is the extended form, which needs `:protocol`.
  if (isConnect && protocol < 0) return scheme >= 0 || path >= 0 ? reject('bad-target') : 1
  if (protocol >= 0) {
    const isTunnel = isConnect && !endsStream && !hasLength
    if (!isTunnel || !hasValue(block, protocol, WEBSOCKET)) return reject('bad-target')
  }
  if (scheme < 0 || path < 0 || !isVisible(block, path)) return reject('bad-target')
  if (!hasValue(block, scheme, HTTP) && !hasValue(block, scheme, HTTPS)) return reject('bad-target')
  // The absolute form of HTTP/1.1 would be a second authority.
  const isAsterisk = valueEnd(block, path) - valueStart(block, path) === 1
  const isOrigin = block.bytes[valueStart(block, path)] === SLASH
  return isOrigin || isAsterisk ? 1 : reject('bad-target')
}

function isToken(block: FieldBlock, index: number): boolean {
  const end = valueEnd(block, index)
  const from = valueStart(block, index)
  for (let i = from; i < end; i++) if (IS_TOKEN[block.bytes[i] as number] !== 1) return false
  return end > from
}

function isVisible(block: FieldBlock, index: number): boolean {
  const end = valueEnd(block, index)
  const from = valueStart(block, index)
  for (let i = from; i < end; i++) {
    const byte = block.bytes[i] as number
    if (byte <= SPACE || byte >= DEL) return false
  }
  return end > from
}

/** Rules, routes and the upstream use one host: both fields must agree. */
function agreeOnHost(block: FieldBlock): number {
  const first = parseAuthority(valueAt(block, authority))
  const second = parseAuthority(valueAt(block, host))
  if (first === undefined || second === undefined) return reject('bad-host')
  const isSame = first.host === second.host && first.port === second.port
  return isSame ? 1 : reject('host-mismatch')
}

function valueAt(block: FieldBlock, index: number): string {
  return block.bytes.toString('latin1', valueStart(block, index), valueEnd(block, index))
}

let rendered: Buffer = Buffer.allocUnsafeSlow(4_096)
let end = 0

const VERSION = bytesOf(' HTTP/1.1\r\n')
const HOST_NAME = bytesOf('host: ')
const LINE_END = bytesOf('\r\n')
const GET = bytesOf('GET')
const CHUNKED = bytesOf('transfer-encoding: chunked\r\n')
/** An upper bound for everything that is written besides the block's own lines. */
const BESIDES = 256

/** Renders the HTTP/1.1 head; returns its length. */
function render(block: FieldBlock, endsStream: boolean): number {
  // The authority of CONNECT is written twice, and joined cookies grow by their separators, which
  // are shorter than the line that each cookie occupies.
  const max = block.length * 2 + BESIDES
  if (rendered.length < max) rendered = Buffer.allocUnsafeSlow(max * 2)
  end = 0
  if (protocol >= 0) copy(GET, 0, GET.length)
  else copyValue(block, method)
  rendered[end++] = SPACE
  if (path >= 0) copyValue(block, path)
  else if (authority >= 0) copyValue(block, authority)
  copy(VERSION, 0, VERSION.length)
  const said = authority >= 0 ? authority : host
  if (said >= 0) {
    copy(HOST_NAME, 0, HOST_NAME.length)
    copyValue(block, said)
    copy(LINE_END, 0, 2)
  }
  copyLines(block)
  if (cookies > 1) joinCookies(block)
  if (protocol >= 0) copyUpgrade()
  else if (!endsStream && !hasLength) copy(CHUNKED, 0, CHUNKED.length)
  copy(LINE_END, 0, 2)
  return end
}

/** RFC 8441 §5: rules and backends see the handshake of RFC 6455, which is a GET with a key. */
function copyUpgrade(): void {
  const key = randomBytes(16).toString('base64')
  const lines = bytesOf(
    `connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: ${key}\r\n`,
  )
  copy(lines, 0, lines.length)
}

function copyValue(block: FieldBlock, index: number): void {
  copy(block.bytes, valueStart(block, index), valueEnd(block, index))
}

function copy(from: Buffer, start: number, stop: number): void {
  if (stop - start > 64) end += from.copy(rendered, end, start, stop)
  else for (let i = start; i < stop; i++) rendered[end++] = from[i] as number
}

/**
 * Copies in as few slices as possible: all lines except the host, and cookies if they are joined.
 */
function copyLines(block: FieldBlock): void {
  const { count } = block
  if (firstField === count) return
  let from = nameStart(block, firstField)
  if (host >= 0 || cookies > 1)
    for (let i = firstField; i < count; i++) {
      if (i !== host && !(cookies > 1 && isCookie(block, i))) continue
      copy(block.bytes, from, nameStart(block, i))
      from = valueEnd(block, i) + 2
    }
  copy(block.bytes, from, block.length)
}

function isCookie(block: FieldBlock, index: number): boolean {
  return areBytes(block.bytes, nameStart(block, index), nameEnd(block, index), COOKIE)
}

const COOKIE_NAME = bytesOf('cookie: ')
const COOKIE_BETWEEN = bytesOf('; ')

/** RFC 9113 §8.2.3: cookies were split only for better compression. */
function joinCookies(block: FieldBlock): void {
  let isFirst = true
  for (let i = firstField; i < block.count; i++) {
    if (!isCookie(block, i)) continue
    if (isFirst) copy(COOKIE_NAME, 0, COOKIE_NAME.length)
    else copy(COOKIE_BETWEEN, 0, COOKIE_BETWEEN.length)
    copyValue(block, i)
    isFirst = false
  }
  copy(LINE_END, 0, 2)
}
