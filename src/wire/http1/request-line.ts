// HOT PATH: the first line of a request, read once however it is segmented.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-request.plain.ts on any input.
// Liberties: counted loops, offsets instead of strings until the head is complete.

import {
  CR,
  IS_METHOD,
  IS_PATH,
  IS_TARGET,
  IS_TOKEN,
  LF,
  QUESTION,
  SLASH,
  SPACE,
  ZERO,
} from './ascii.ts'
import { rejectText } from './fields.ts'
import { type RejectionWord, reject } from './rejections.ts'

/** The states of the reader. */
const AT_START = 0
const IN_METHOD = 1
const IN_TARGET = 2
const AT_VERSION = 3
const DONE = 4

/** Offsets from the start of the head. */
export class RequestLine {
  phase: number = AT_START
  at = 0
  method = 0
  methodEnd = 0
  target = 0
  /** The first question mark, or the end of the target. */
  query = 0
  targetEnd = 0
  minor = 1
}

export function beginRequestLine(line: RequestLine): void {
  line.phase = AT_START
  line.at = 0
}

const MAX_METHOD = 32

/** Returns the offset after the line, 0 if more bytes are needed, or a rejection. */
export function readRequestLine(
  line: RequestLine,
  bytes: Buffer,
  start: number,
  end: number,
  maxTarget: number,
): number {
  let at = start + line.at
  if (line.phase === AT_START) {
    if (at === end) return 0
    // RFC 9112 §2.2: some old clients send one empty line before a request.
    if (bytes[at] === CR) {
      if (at + 1 === end) return 0
      if (bytes[at + 1] !== LF) return reject('bare-cr')
      at += 2
    }
    line.phase = IN_METHOD
    line.method = at - start
    line.query = 0
  }
  if (line.phase === IN_METHOD) {
    const from = start + line.method
    while (at < end && IS_METHOD[bytes[at] as number] === 1) at++
    if (at - from > MAX_METHOD) return reject('bad-method')
    if (at === end) return pause(line, at - start)
    if (bytes[at] !== SPACE) return rejectMethod(bytes[at] as number)
    if (at === from) return reject('bad-request-line')
    line.methodEnd = at - start
    at++
    line.target = at - start
    line.phase = IN_TARGET
  }
  if (line.phase === IN_TARGET) {
    const from = start + line.target
    if (line.query === 0) {
      while (at < end && IS_PATH[bytes[at] as number] === 1) at++
      if (at < end && bytes[at] === QUESTION) line.query = at - start
    }
    while (at < end && IS_TARGET[bytes[at] as number] === 1) at++
    if (at - from > maxTarget) return reject('target-too-long')
    if (at === end) return pause(line, at - start)
    if (bytes[at] !== SPACE) {
      return rejectText(bytes[at] as number, bytes[at] === CR ? 'bad-request-line' : 'bad-target')
    }
    if (at === from) return reject('bad-request-line')
    line.targetEnd = at - start
    if (line.query === 0) line.query = line.targetEnd
    at++
    line.phase = AT_VERSION
  }
  if (end - at >= 10 && isUsualVersion(bytes, at)) {
    line.minor = 1
    line.phase = DONE
    return at + 10
  }
  const version = readVersion(bytes, at, end, 'bad-request-line')
  if (version === 0) return pause(line, at - start)
  if (version < 0) return rejectVersion(version, line, bytes, start, at)
  if (end - at > 8 && bytes[at + 8] !== CR) {
    return rejectText(bytes[at + 8] as number, 'bad-request-line')
  }
  if (end - at < 10) return pause(line, at - start)
  if (bytes[at + 9] !== LF) return reject('bare-cr')
  line.minor = version - 10
  line.phase = DONE
  return at + 10
}

function pause(line: RequestLine, at: number): number {
  line.at = at
  return 0
}

/** No lower-case letters: an upstream that ignores case would see another method than the rules. */
function rejectMethod(byte: number): number {
  if (IS_TOKEN[byte] === 1) return reject('bad-method')
  return rejectText(byte, 'bad-request-line')
}

/** `HTTP/1.1` and the end of the line. */
function isUsualVersion(bytes: Buffer, at: number): boolean {
  return (
    bytes[at] === 0x48 &&
    bytes[at + 1] === 0x54 &&
    bytes[at + 2] === 0x54 &&
    bytes[at + 3] === 0x50 &&
    bytes[at + 4] === 0x2f &&
    bytes[at + 5] === 0x31 &&
    bytes[at + 6] === 0x2e &&
    bytes[at + 7] === 0x31 &&
    bytes[at + 8] === CR &&
    bytes[at + 9] === LF
  )
}

function rejectVersion(
  rejection: number,
  line: RequestLine,
  bytes: Buffer,
  start: number,
  at: number,
): number {
  if (rejection === UNKNOWN && isPreface(line, bytes, start)) return PREFACE
  const hasPath = bytes[start + line.target] === SLASH
  const next = bytes[at]
  const isWord = next !== LETTER_H && next !== SPACE
  return rejection === BAD_LINE && !hasPath && isWord ? NOT_HTTP : rejection
}

/** The preface of HTTP/2 with prior knowledge (RFC 9113 §3.3). */
function isPreface(line: RequestLine, bytes: Buffer, start: number): boolean {
  return bytes.toString('latin1', start + line.method, start + line.targetEnd) === 'PRI *'
}

const LETTER_H = 0x48
const BAD_LINE = reject('bad-request-line')
const NOT_HTTP = reject('not-http')
const UNKNOWN = reject('unknown-version')
const PREFACE = reject('http2-preface')

const PROTOCOL = 'HTTP/1.'

/** Returns 10 or 11 for the version, 0 if more bytes are needed, or a rejection. */
export function readVersion(
  bytes: Buffer,
  at: number,
  end: number,
  otherwise: RejectionWord,
): number {
  for (let i = 0; i < 8; i++) {
    if (at + i === end) return 0
    const byte = bytes[at + i] as number
    const isFitting = i === 5 || i === 7 ? isDigit(byte) : byte === PROTOCOL.charCodeAt(i)
    if (!isFitting) return rejectText(byte, otherwise)
  }
  const minor = (bytes[at + 7] as number) - ZERO
  return bytes[at + 5] === 0x31 && minor < 2 ? 10 + minor : UNKNOWN
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte < ZERO + 10
}
