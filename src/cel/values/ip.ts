import { fail } from './failure.ts'

/**
 * An IP address as four 32-bit words (signed, as JavaScript's bit operations return them), so that
 * equality and prefix tests are a few integer operations. IPv4 uses only the last word; the family
 * distinguishes 0.0.0.1 from ::1.
 */
export class Ip {
  readonly family: 4 | 6
  readonly w0: number
  readonly w1: number
  readonly w2: number
  readonly w3: number
  #text: string | undefined

  constructor(family: 4 | 6, w0: number, w1: number, w2: number, w3: number) {
    this.family = family
    this.w0 = w0 | 0
    this.w1 = w1 | 0
    this.w2 = w2 | 0
    this.w3 = w3 | 0
    this.#text = undefined
    Object.freeze(this)
  }

  /** The canonical string form: dotted quad, or RFC 5952. */
  get text(): string {
    this.#text ??= this.family === 4 ? dotted(this.w3) : compressed(this)
    return this.#text
  }

  equals(other: Ip): boolean {
    return (
      this.w3 === other.w3 &&
      this.family === other.family &&
      this.w2 === other.w2 &&
      this.w1 === other.w1 &&
      this.w0 === other.w0
    )
  }

  toString(): string {
    return this.text
  }
}

/**
 * Strict: accepts what Go's netip.ParseAddr accepts, except for zones and IPv4-mapped IPv6, both of
 * which are a second spelling of the same peer and would let a rule miss it.
 */
export function parseIp(text: string): Ip | undefined {
  const ip = parseAny(text)
  return ip === undefined || isMapped(ip) ? fail('invalid IP address', text) : ip
}

/**
 * A peer's address as the operating system reports it: a dual-stack listener shows IPv4 clients as
 * ::ffff:a.b.c.d, and link-local addresses carry a zone. Rules see neither.
 */
export function ipFromSocket(text: string): Ip | undefined {
  if (text.startsWith(MAPPED)) {
    const word = parseV4(text, MAPPED.length)
    if (word !== -1) return new Ip(4, 0, 0, 0, word)
  }
  const zone = text.indexOf('%')
  const ip = parseAny(zone === -1 ? text : text.slice(0, zone))
  if (ip === undefined) return undefined
  if (zone !== -1 && (ip.family === 4 || zone === text.length - 1)) return undefined
  return isMapped(ip) ? new Ip(4, 0, 0, 0, ip.w3) : ip
}

/** Whether this can be in the brackets of a URL: any IPv6 address, without a zone. */
export function isIpv6Text(text: string): boolean {
  return parseAny(text)?.family === 6
}

function isMapped(ip: Ip): boolean {
  return ip.family === 6 && ip.w2 === 0xffff && ip.w1 === 0 && ip.w0 === 0
}

/** The prefix of nearly all addresses on a dual-stack listener. */
const MAPPED = '::ffff:'
const MAX_LENGTH = 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255'.length
const DOT = 46
const COLON = 58

function parseAny(text: string): Ip | undefined {
  if (text.length > MAX_LENGTH) return undefined
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === COLON) return parseV6(text)
    if (code === DOT) {
      const word = parseV4(text, 0)
      return word === -1 ? undefined : new Ip(4, 0, 0, 0, word)
    }
  }
  return undefined
}

/** The dotted quad from `from` to the end as an unsigned word; -1 if it is invalid. */
function parseV4(text: string, from: number): number {
  let word = 0
  let byte = -1
  let dots = 0
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === DOT) {
      if (byte === -1 || ++dots > 3) return -1
      word = word * 256 + byte
      byte = -1
    } else {
      const digit = code - 48
      // Other parsers read a leading zero as octal: 010.0.0.1 is ambiguous, so it is rejected.
      if (digit < 0 || digit > 9 || byte === 0) return -1
      byte = byte === -1 ? digit : byte * 10 + digit
      if (byte > 255) return -1
    }
  }
  return dots === 3 && byte !== -1 ? word * 256 + byte : -1
}

function parseV6(text: string): Ip | undefined {
  const groups: number[] = []
  let gap = -1
  let at = 0
  if (text.startsWith('::')) {
    gap = 0
    at = 2
  }
  while (at < text.length) {
    if (groups.length === 8) return undefined
    const end = groupEnd(text, at)
    if (end === at) return undefined
    if (text.charCodeAt(end) === DOT) {
      const word = groups.length > 6 ? -1 : parseV4(text, at)
      if (word === -1) return undefined
      groups.push(word >>> 16, word & 0xffff)
      break
    }
    if (end - at > 4) return undefined
    groups.push(Number.parseInt(text.slice(at, end), 16))
    if (end === text.length) break
    if (text.charCodeAt(end) !== COLON || end + 1 === text.length) return undefined
    at = end + 1
    if (text.charCodeAt(at) === COLON) {
      if (gap !== -1) return undefined
      gap = groups.length
      at++
    }
  }
  // `::` replaces at least one group of zeros.
  if (gap === -1 ? groups.length !== 8 : groups.length === 8) return undefined
  if (gap !== -1) groups.splice(gap, 0, ...new Array<number>(8 - groups.length).fill(0))
  return new Ip(6, pair(groups, 0), pair(groups, 2), pair(groups, 4), pair(groups, 6))
}

function groupEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && isHexDigit(text.charCodeAt(at))) at++
  return at
}

function isHexDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70)
}

function pair(groups: readonly number[], at: number): number {
  return ((groups[at] as number) << 16) | (groups[at + 1] as number)
}

function dotted(word: number): string {
  return `${word >>> 24}.${(word >>> 16) & 255}.${(word >>> 8) & 255}.${word & 255}`
}

function compressed(ip: Ip): string {
  const groups = [ip.w0, ip.w1, ip.w2, ip.w3].flatMap((word) => [word >>> 16, word & 0xffff])
  // RFC 5952 §4.2: the longest run of at least two zeros, the first one in case of a tie.
  let start = -1
  let length = 1
  for (let from = 0; from < 8; from++) {
    let to = from
    while (to < 8 && groups[to] === 0) to++
    if (to - from > length) {
      start = from
      length = to - from
    }
    from = to
  }
  const hex = groups.map((group) => group.toString(16))
  if (start === -1) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + length).join(':')}`
}
