import { parsePlainJson } from '../../cel/values/json-plain.ts'
import { isLongText, lookAtLongText } from '../long-json.ts'

/** Values are walked recursively; deeper ones are rejected. */
const MAX_DEPTH = 200

const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON: (text: string) => unknown
  isRawJSON: (value: unknown) => boolean
}

export interface JsonScan {
  /** The spans of the values of the outermost object, by name. */
  readonly top: ReadonlyMap<string, Span>
  readonly members: number
  readonly depth: number
  readonly hasEscapedNames: boolean
  /** There is a number that a double may not represent. */
  readonly hasLongNumbers: boolean
}

export interface Span {
  readonly start: number
  readonly end: number
}

export type JsonProblem = 'invalid' | 'deep' | 'duplicate'

export type ParsedJson =
  | { readonly value: unknown; readonly problem?: undefined }
  | { readonly value?: undefined; readonly problem: JsonProblem }

/**
 * Parses JSON from outside. A duplicate member is a problem: the gateway would read one of the two,
 * and the provider perhaps the other. Numbers that a double cannot represent keep their spelling
 * when they are written again. Names with escapes are not passed to JSON.parse; see json-plain.ts.
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const text = decodeUtf8(bytes)
  if (text === undefined) return { problem: 'invalid' }
  const scan = scanJson(bytes)
  if (scan === undefined) return { problem: 'invalid' }
  if (scan.depth > MAX_DEPTH) return { problem: 'deep' }
  const value = parseText(text, scan)
  if (value === undefined) return { problem: 'invalid' }
  return countMembers(value) === scan.members ? { value } : { problem: 'duplicate' }
}

/**
 * The same for text from a provider or a model: an event, the arguments of a call. No decision
 * depends on it, so the last of two equal names may count, and JSON.parse alone reads most texts.
 */
export function parseJsonText(text: string): ParsedJson {
  const isPlain = isLongText(text)
    ? lookAtLongText(text) === 'plain'
    : !LONG_NUMBER.test(text) && !ESCAPED_NAME.test(text)
  if (!isPlain) return parseJson(ENCODER.encode(text))
  try {
    return { value: JSON.parse(text) }
  } catch {
    return { problem: 'invalid' }
  }
}

/** A number with many digits or an exponent; a lookalike inside a string does no harm. */
const LONG_NUMBER = /[:[,]\s*-?(?:\d[\d.]{15}|\d[\d.]*[eE])|^\s*-?\d/
/** An escape before the quote that ends a name; see json-plain.ts. */
const ESCAPED_NAME = /\\.[^"\\]*"\s*:/

const ENCODER = new TextEncoder()
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function encodeJson(value: unknown): Uint8Array {
  return ENCODER.encode(JSON.stringify(value))
}

export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return DECODER.decode(bytes)
  } catch {
    return undefined
  }
}

function parseText(text: string, scan: JsonScan): unknown {
  if (scan.hasEscapedNames || scan.hasLongNumbers) return parsePlainJson(text, exactNumber)
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function exactNumber(source: string): unknown {
  const value = Number(source)
  if (Number.isSafeInteger(value)) return value
  const digits = source
    .replace(/[eE].*$/, '')
    .replace(/\D/g, '')
    .replace(/^0+/, '')
  return digits.length <= 15 && Number.isFinite(value) ? value : rawJSON(source)
}

/** Counts members of objects after equal names have been merged. */
function countMembers(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum, item) => sum + countMembers(item), 0)
  if (!isObject(value)) return 0
  let sum = 0
  for (const name of Object.keys(value)) sum += 1 + countMembers(value[name])
  return sum
}

/** False for a number that kept its spelling. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value)
}

const QUOTE = 34
const COMMA = 44
const COLON = 58
const BACKSLASH = 92

/**
 * Finds the positions of values in one pass; it does not validate, which parsing does. Returns
 * undefined if brackets or strings are not closed.
 */
function scanJson(bytes: Uint8Array): JsonScan | undefined {
  const top = new Map<string, Span>()
  let members = 0
  let depth = 0
  let maxDepth = 0
  let hasEscapedNames = false
  let hasLongNumbers = false
  let name: string | undefined
  let valueStart = -1
  let numberLength = 0
  const endValue = (at: number): void => {
    if (name === undefined) return
    let end = at
    while (end > valueStart && isBlank(bytes[end - 1])) end--
    top.set(name, { start: valueStart, end })
    name = undefined
  }
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at] as number
    if (code === QUOTE) {
      numberLength = 0
      const close = endOfString(bytes, at)
      if (close < 0) return undefined
      let next = close + 1
      while (isBlank(bytes[next])) next++
      if (bytes[next] === COLON) {
        members++
        const isEscaped = hasBackslash(bytes, at, close)
        hasEscapedNames ||= isEscaped
        if (depth === 1) {
          name = nameOf(bytes.subarray(at, close + 1))
          valueStart = next + 1
          while (isBlank(bytes[valueStart])) valueStart++
        }
        at = next
      } else at = close
    } else if (code === 123 || code === 91) {
      if (++depth > maxDepth) maxDepth = depth
    } else if (code === 125 || code === 93) {
      if (depth === 1) endValue(at)
      if (--depth < 0) return undefined
    } else if (code === COMMA) {
      if (depth === 1) endValue(at)
    }
    // Up to fifteen digits without an exponent are always exact.
    if ((code >= 48 && code <= 57) || code === 46) hasLongNumbers ||= ++numberLength > 15
    else if (code === 69 || code === 101) {
      if (numberLength > 0) hasLongNumbers = true
      numberLength = 0
    } else numberLength = 0
  }
  return depth === 0
    ? { top, members, depth: maxDepth, hasEscapedNames, hasLongNumbers }
    : undefined
}

function endOfString(bytes: Uint8Array, open: number): number {
  for (let close = bytes.indexOf(QUOTE, open + 1); close >= 0; ) {
    let slashes = 0
    while (bytes[close - 1 - slashes] === BACKSLASH && close - 1 - slashes > open) slashes++
    if (slashes % 2 === 0) return close
    close = bytes.indexOf(QUOTE, close + 1)
  }
  return -1
}

function hasBackslash(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

function nameOf(quoted: Uint8Array): string {
  const text = decodeUtf8(quoted)
  const name = text === undefined ? undefined : parsePlainJson(text, Number)
  return typeof name === 'string' ? name : ''
}

function isBlank(code: number | undefined): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9
}

/**
 * Sets members of the outermost object and leaves every other byte as is: unknown fields and the
 * spelling of numbers survive. The bytes must be a JSON object that has been parsed; `parsed` is
 * the result, which avoids a search for members that do not exist. A member whose value is
 * undefined is removed.
 */
export function setMembers(
  bytes: Uint8Array,
  members: Readonly<Record<string, unknown>>,
  parsed?: Readonly<Record<string, unknown>>,
): Uint8Array {
  if (Object.values(members).includes(undefined)) {
    const value = parsed ?? (parseJson(bytes).value as object)
    return encodeJson({ ...value, ...members })
  }
  if (parsed !== undefined && !Object.keys(members).some((name) => Object.hasOwn(parsed, name))) {
    return addMembers(bytes, members, Object.keys(parsed).length > 0)
  }
  const scan = scanJson(bytes)
  if (scan === undefined) return bytes
  const edits: { readonly span: Span; readonly text: Uint8Array }[] = []
  let added = ''
  for (const [name, value] of Object.entries(members)) {
    const span = scan.top.get(name)
    if (span !== undefined) edits.push({ span, text: encodeJson(value) })
    else added += `${JSON.stringify(name)}:${JSON.stringify(value)},`
  }
  if (added !== '') {
    const start = bytes.indexOf(123) + 1
    const text = scan.members === 0 ? added.slice(0, -1) : added
    edits.push({ span: { start, end: start }, text: ENCODER.encode(text) })
  }
  return splice(bytes, edits)
}

/** All of them are new. */
function addMembers(
  bytes: Uint8Array,
  members: Readonly<Record<string, unknown>>,
  hasOthers: boolean,
): Uint8Array {
  const start = bytes.indexOf(123) + 1
  const text = JSON.stringify(members).slice(1, -1)
  if (text === '') return bytes
  const added = ENCODER.encode(hasOthers ? `${text},` : text)
  return joinBytes([bytes.subarray(0, start), added, bytes.subarray(start)])
}

function splice(
  bytes: Uint8Array,
  edits: { readonly span: Span; readonly text: Uint8Array }[],
): Uint8Array {
  edits.sort((a, b) => a.span.start - b.span.start)
  const pieces: Uint8Array[] = []
  let at = 0
  for (const { span, text } of edits) {
    pieces.push(bytes.subarray(at, span.start), text)
    at = span.end
  }
  pieces.push(bytes.subarray(at))
  return joinBytes(pieces)
}

/** Copies bytes whose buffer may be reused; the `slice` of Buffer does not copy. */
export function copyBytes(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes)
}

export function joinBytes(pieces: readonly Uint8Array[]): Uint8Array {
  if (pieces.length === 1) return pieces[0] as Uint8Array
  let length = 0
  for (const piece of pieces) length += piece.length
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
