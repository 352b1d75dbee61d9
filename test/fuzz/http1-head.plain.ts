import type { RejectionWord } from '../../src/wire/http1/rejections.ts'

/*
 * The reference implementation of src/wire/http1/head.ts: strings and patterns, no state, no reuse.
 * A field is [name, value, is hidden].
 */

export type PlainField = [name: string, value: string, isHidden: boolean]

export interface PlainLimits {
  readonly head: number
  readonly target: number
  readonly fields: number
}

/** Thrown by the reference reader: the reason for a rejection, or `more` if it needs more bytes. */
export class Verdict extends Error {
  readonly word: RejectionWord | 'more'
  constructor(word: RejectionWord | 'more') {
    super(word)
    this.word = word
  }
}

export function fail(word: RejectionWord | 'more'): never {
  throw new Verdict(word)
}

/** A cursor that takes matching characters and reports an error for anything else. */
export class Cursor {
  at = 0
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  peek(): string {
    return this.text[this.at] ?? fail('more')
  }
  take(pattern: RegExp): string {
    const sticky = new RegExp(pattern, 'y')
    sticky.lastIndex = this.at
    const found = sticky.exec(this.text)?.[0] ?? ''
    this.at += found.length
    return found
  }
  /** Takes one matching character, or fails with the given word. */
  one(pattern: RegExp, otherwise: RejectionWord): string {
    const next = this.peek()
    if (!pattern.test(next)) fail(next === '\0' ? 'nul' : next === '\n' ? 'bare-lf' : otherwise)
    this.at++
    return next
  }
  endOfLine(otherwise: RejectionWord): void {
    this.one(/\r/, otherwise)
    if (this.peek() !== '\n') fail('bare-cr')
    this.at++
  }
}

const TOKEN = /[-!#$%&'*+.^_`|~0-9A-Za-z]*/

export function plainFields(cursor: Cursor, max: number): PlainField[] {
  const fields: PlainField[] = []
  while (cursor.peek() !== '\r') {
    if (/[ \t]/.test(cursor.peek())) fail('obs-fold')
    if (fields.length === max) fail('too-many-headers')
    const name = cursor.take(TOKEN)
    if (name !== '' && /[ \t]/.test(cursor.peek())) fail('space-before-colon')
    if (name === '' && cursor.peek() === ':') fail('bad-header-name')
    cursor.one(/:/, 'bad-header-name')
    const value = cursor.take(/[\t\x20-\x7e\x80-\xff]*/)
    cursor.endOfLine('bad-header-value')
    fields.push([name, value.replaceAll(/^[ \t]+|[ \t]+$/g, ''), isLookalike(name)])
  }
  cursor.endOfLine('bad-header-name')
  return fields
}

const RESERVED =
  `host connection content-length transfer-encoding expect upgrade te keep-alive proxy-connection
   proxy-authenticate proxy-authorization http2-settings date trailer`.split(/\s+/)

/** Names such as `content_length`. */
function isLookalike(name: string): boolean {
  return name.includes('_') && RESERVED.includes(name.toLowerCase().replaceAll('_', '-'))
}

export function valuesOf(fields: readonly PlainField[], lower: string): string[] {
  return fields.filter(([name]) => name.toLowerCase() === lower).map(([, value]) => value)
}

export function plainFraming(fields: readonly PlainField[], minor: number, acceptsRepeats = false) {
  const written = valuesOf(fields, 'content-length')
  const lengths = acceptsRepeats
    ? written.flatMap((value) => value.split(/[ \t]*,[ \t]*/))
    : written
  const codings = valuesOf(fields, 'transfer-encoding')
  if (codings.length > 0) {
    if (lengths.length > 0) fail('both-lengths')
    if (minor === 0) fail('transfer-coding-in-http-1.0')
    if (codings.length > 1) fail('duplicate-transfer-encoding')
    if (codings[0]?.toLowerCase() !== 'chunked') fail('unknown-transfer-coding')
    return { framing: 'chunked', length: -1 }
  }
  if (lengths.length === 0) return { framing: 'none', length: -1 }
  const isRepeated = acceptsRepeats ? new Set(lengths).size > 1 : lengths.length > 1
  if (isRepeated) fail('duplicate-content-length')
  if (!/^\d{1,16}$/.test(lengths[0] ?? '')) fail('bad-content-length')
  if (BigInt(lengths[0] ?? '') > Number.MAX_SAFE_INTEGER) fail('bad-content-length')
  const length = Number(lengths[0])
  return { framing: length === 0 ? 'none' : 'length', length }
}

/** Protocols that a client may upgrade to: neither HTTP nor TLS again. */
function protocolsOf(values: readonly string[]): string {
  const one = new RegExp(`^${TOKEN.source}(/${TOKEN.source})?$`)
  return values
    .flatMap((value) => value.split(','))
    .map((name) => name.replaceAll(/^[ \t]+|[ \t]+$/g, '').toLowerCase())
    .filter((name) => one.test(name))
    .filter((name) => {
      const [protocol = ''] = name.split('/')
      return !['h2', 'h2c', 'h3', 'http', 'tls'].includes(protocol.replace(/-\d+$/, ''))
    })
    .join(', ')
}

export function plainConnection(
  fields: PlainField[],
  minor: number,
  isEndToEnd: (name: string) => boolean,
) {
  const listed = valuesOf(fields, 'connection').flatMap((value) => value.split(','))
  const options = new Set(
    listed.map((option) => option.replaceAll(/^[ \t]+|[ \t]+$/g, '').toLowerCase()),
  )
  options.delete('')
  for (const option of options)
    if (!new RegExp(`^${TOKEN.source}$`).test(option)) fail('bad-connection')
  if (options.size > 16) fail('bad-connection')
  const keepAlive = !options.has('close') && (minor === 1 || options.has('keep-alive'))
  const upgrade =
    options.has('upgrade') && minor === 1 ? protocolsOf(valuesOf(fields, 'upgrade')) : ''
  const others = [...options].filter((name) => !/^(close|keep-alive|upgrade)$/.test(name))
  if (others.some(isEndToEnd)) fail('connection-names-end-to-end')
  for (const field of fields) {
    const name = field[0].toLowerCase()
    const isShown = !RESERVED.includes(name) || name === 'date' || name === 'trailer'
    if (others.includes(name) && isShown) field[2] = true
  }
  return { keepAlive, upgrade, options: others }
}
