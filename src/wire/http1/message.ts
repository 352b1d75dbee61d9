// HOT PATH: what requests and responses have in common after their lines are read.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-head.plain.ts on any input.
// Liberties: the usual values of Connection are compared in place, before any splitting.

import { IS_TOKEN, ZERO } from './ascii.ts'
import {
  CONNECTION,
  CONTENT_LENGTH,
  HIDDEN,
  isEndToEnd,
  TRANSFER_ENCODING,
  UPGRADE,
} from './field-names.ts'
import { Fields, fieldValue, firstOf, hasName, hasValue, isRepeated } from './fields.ts'
import { unpadded } from './padding.ts'
import { reject } from './rejections.ts'

/** How a body ends: no body, by length, by the last chunk, or with the connection. */
export type Framing = 'none' | 'length' | 'chunked' | 'close'

export interface HeadLimits {
  /** Bytes of a head, from the first byte to the empty line. */
  readonly head: number
  /** Bytes of the request target. */
  readonly target: number
  readonly fields: number
}

export const HEAD_LIMITS: HeadLimits = { head: 32_768, target: 8_192, fields: 100 }

export class MessageHead {
  readonly fields: Fields = new Fields()
  /** The version is HTTP/1.`minor`. */
  minor = 1
  framing: Framing = 'none'
  /** The value of Content-Length, or -1. */
  length = -1
  /** Whether the sender wants to reuse this connection. */
  keepAlive = true
  /** The permitted protocols of Upgrade, in lower case, if Connection lists `upgrade`. */
  upgrade = ''
  /** The options of Connection in lower case, except `close`, `keep-alive` and `upgrade`. */
  readonly options: string[] = []
}

/**
 * Sets framing and length from the fields. Returns 1 or a rejection. `acceptsRepeats`: identical
 * lengths count as one, in several fields or in a list (RFC 9110 §8.6).
 */
export function readFraming(head: MessageHead, acceptsRepeats = false): number {
  const { fields } = head
  const length = firstOf(fields, CONTENT_LENGTH)
  const coding = firstOf(fields, TRANSFER_ENCODING)
  head.framing = 'none'
  head.length = -1
  if (coding >= 0) {
    // RFC 9112 §6.3: a message with both is an attack or a mistake; reject it rather than choose.
    if (length >= 0) return reject('both-lengths')
    // RFC 9112 §6.1: an HTTP/1.0 sender may not know what it means.
    if (head.minor === 0) return reject('transfer-coding-in-http-1.0')
    if (isRepeated(fields, TRANSFER_ENCODING)) return reject('duplicate-transfer-encoding')
    if (!hasValue(fields, coding, 'chunked')) return reject('unknown-transfer-coding')
    head.framing = 'chunked'
    return 1
  }
  if (length < 0) return 1
  const digits = acceptsRepeats ? onlyLength(fields, length) : fieldValue(fields, length)
  const isSingle = acceptsRepeats || !isRepeated(fields, CONTENT_LENGTH)
  if (!isSingle || digits === undefined) return reject('duplicate-content-length')
  head.length = parseLength(digits)
  if (head.length < 0) return reject('bad-content-length')
  head.framing = head.length === 0 ? 'none' : 'length'
  return 1
}

/** The single length that all fields and all list members share, or undefined. */
function onlyLength(fields: Fields, first: number): string | undefined {
  const value = fieldValue(fields, first)
  if (!isRepeated(fields, CONTENT_LENGTH) && !value.includes(',')) return value
  const lengths = new Set<string>()
  for (let i = first; i < fields.count; i++) {
    if (fields.kinds[i] !== CONTENT_LENGTH) continue
    for (const member of fieldValue(fields, i).split(',')) lengths.add(unpadded(member))
  }
  const [only] = lengths
  return lengths.size === 1 ? only : undefined
}

/** An exact decimal number, or -1. */
function parseLength(digits: string): number {
  if (digits.length === 0 || digits.length > 16) return -1
  let value = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(i) - ZERO
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return value <= Number.MAX_SAFE_INTEGER ? value : -1
}

/** Sets keepAlive, upgrade and options from the fields. Returns 1 or a rejection. */
export function readConnection(head: MessageHead): number {
  const { fields, options } = head
  const first = firstOf(fields, CONNECTION)
  head.keepAlive = head.minor === 1
  head.upgrade = ''
  if (options.length > 0) options.length = 0
  if (first < 0) return 1
  if (!isRepeated(fields, CONNECTION)) {
    if (hasValue(fields, first, 'keep-alive')) {
      head.keepAlive = true
      return 1
    }
    if (hasValue(fields, first, 'close')) {
      head.keepAlive = false
      return 1
    }
  }
  return readOptions(head)
}

/** More names than any sender needs; each is searched for among all fields. */
const MAX_OPTIONS = 16

function readOptions(head: MessageHead): number {
  const { fields, options } = head
  const seen = new Set<string>()
  for (let i = 0; i < fields.count; i++) {
    if (fields.kinds[i] !== CONNECTION) continue
    for (const element of fieldValue(fields, i).split(',')) {
      const option = unpadded(element).toLowerCase()
      if (!isToken(option) && option !== '') return reject('bad-connection')
      seen.add(option)
    }
  }
  seen.delete('')
  if (seen.size > MAX_OPTIONS) return reject('bad-connection')
  // RFC 9112 §9.3: close wins over keep-alive.
  head.keepAlive = !seen.delete('close') && (head.minor === 1 || seen.has('keep-alive'))
  seen.delete('keep-alive')
  // RFC 9110 §7.8: ignored in HTTP/1.0.
  if (seen.delete('upgrade') && head.minor === 1) head.upgrade = protocols(fields)
  for (const option of seen) {
    if (isEndToEnd(option)) return reject('connection-names-end-to-end')
    options.push(option)
  }
  hideOptions(fields, options)
  return 1
}

/**
 * Rules are not evaluated inside a tunnel. HTTP in a tunnel would bypass all rules, so the gateway
 * never upgrades to it, not even to a draft (`h2c-14`): HTTP/2 and TLS are spoken with the gateway
 * itself.
 */
const NEVER_TUNNELLED = /^(?:h2c?|h3|http|tls)(?:-[0-9]+)?(?:\/|$)/

function protocols(fields: Fields): string {
  const all: string[] = []
  for (let i = 0; i < fields.count; i++) {
    if (fields.kinds[i] !== UPGRADE) continue
    for (const element of fieldValue(fields, i).split(',')) {
      const protocol = unpadded(element).toLowerCase()
      const parts = protocol.split('/')
      const isOne = parts.length < 3 && parts.every(isToken)
      if (isOne && !NEVER_TUNNELLED.test(protocol)) all.push(protocol)
    }
  }
  return all.join(', ')
}

/** Rules must not read headers that the upstream does not get. */
function hideOptions(fields: Fields, options: readonly string[]): void {
  for (let i = 0; i < fields.count; i++) {
    if ((fields.kinds[i] as number) > HIDDEN) continue
    for (const option of options) if (hasName(fields, i, option)) fields.kinds[i] = HIDDEN
  }
}

export function isToken(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (IS_TOKEN[text.charCodeAt(i)] !== 1) return false
  return text !== ''
}
