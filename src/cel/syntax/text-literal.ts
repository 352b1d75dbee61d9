import type { Value } from '../values/value.ts'
import type { Problem } from './lexer.ts'

const SIMPLE_ESCAPES = new Map([
  ['a', 7], ['b', 8], ['f', 12], ['n', 10], ['r', 13], ['t', 9], ['v', 11],
  ['\\', 92], ['?', 63], ['"', 34], ["'", 39], ['`', 96],
]) // biome-ignore format: one table

const DIGITS: Record<string, number> = { x: 2, X: 2, u: 4, U: 8 }

/** Reads a string or bytes literal, with its `r` or `b` at `prefix` and its quote at `quote`. */
export function readText(
  text: string,
  prefix: number,
  quote: number,
): { value: Value; end: number } | Problem {
  const flags = text.slice(prefix, quote).toLowerCase()
  const raw = flags.includes('r')
  const bytes = flags.includes('b')
  const mark = text[quote] as string
  const triple = text.startsWith(mark.repeat(3), quote)
  const closing = triple ? mark.repeat(3) : mark
  const from = quote + closing.length
  const end = findEnd(text, from, closing, raw)
  if (end === undefined) {
    const stop = triple ? text.length : lineEnd(text, from)
    return {
      message: 'unterminated string',
      start: prefix,
      end: stop,
      hint: `close it with ${closing}`,
    }
  }
  const inner = text.slice(from, end)
  const after = end + closing.length
  if (raw || !inner.includes('\\')) {
    if (!inner.isWellFormed()) {
      return { message: 'a string must be valid Unicode', start: prefix, end: after }
    }
    return { value: bytes ? new TextEncoder().encode(inner) : inner, end: after }
  }
  const read = bytes ? unescapeBytes(inner) : unescapeString(inner)
  if (typeof read === 'number') {
    return {
      message: 'invalid escape sequence',
      start: from + read,
      end: Math.min(from + read + 2, end),
      hint: "use \\\\ for a backslash, or r'…' for a raw string",
    }
  }
  return { value: read, end: after }
}

function findEnd(text: string, from: number, closing: string, raw: boolean): number | undefined {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === 92 /* \ */ && !raw) at++
    else if (text.startsWith(closing, at)) return at
    else if ((code === 10 || code === 13) && closing.length === 1) return undefined
  }
  return undefined
}

function lineEnd(text: string, from: number): number {
  const line = text.indexOf('\n', from)
  return line < 0 ? text.length : line
}

/** The unescaped string, or the offset of an invalid escape. */
function unescapeString(inner: string): string | number {
  let out = ''
  let at = 0
  while (at < inner.length) {
    const slash = inner.indexOf('\\', at)
    if (slash < 0) break
    out += inner.slice(at, slash)
    const escaped = readEscape(inner, slash)
    if (escaped === undefined || (escaped.code >= 0xd800 && escaped.code <= 0xdfff)) return slash
    out += String.fromCodePoint(escaped.code)
    at = escaped.end
  }
  out += inner.slice(at)
  return out.isWellFormed() ? out : 0
}

/** In bytes literals, `\x` and octal escapes are single bytes, and `\u` does not exist. */
function unescapeBytes(inner: string): Uint8Array | number {
  const encoder = new TextEncoder()
  const out: number[] = []
  let at = 0
  while (at < inner.length) {
    const slash = inner.indexOf('\\', at)
    const plain = inner.slice(at, slash < 0 ? inner.length : slash)
    if (!plain.isWellFormed()) return at
    for (const byte of encoder.encode(plain)) out.push(byte)
    if (slash < 0) break
    const escaped = readEscape(inner, slash)
    if (escaped === undefined || /[uU]/.test(inner[slash + 1] as string)) return slash
    out.push(escaped.code)
    at = escaped.end
  }
  return Uint8Array.from(out)
}

function readEscape(inner: string, slash: number): { code: number; end: number } | undefined {
  const letter = inner[slash + 1] ?? ''
  const simple = SIMPLE_ESCAPES.get(letter)
  if (simple !== undefined) return { code: simple, end: slash + 2 }
  const width = Object.hasOwn(DIGITS, letter) ? (DIGITS[letter] as number) : 0
  const digits =
    width > 0 ? inner.slice(slash + 2, slash + 2 + width) : inner.slice(slash + 1, slash + 4)
  if (
    width > 0
      ? digits.length !== width || !/^[0-9a-fA-F]+$/.test(digits)
      : !/^[0-3][0-7]{2}$/.test(digits)
  ) {
    return undefined
  }
  const code = Number.parseInt(digits, width > 0 ? 16 : 8)
  if (code > 0x10ffff) return undefined
  return { code, end: slash + (width > 0 ? 2 + width : 4) }
}
