// HOT PATH: what a field is, found from the bytes of its name.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-head.plain.ts on any input.
// Liberties: one look-up by length and first letter, then bytes compared in place.

import { DASH, FOLD, LOWER, UNDERSCORE } from './ascii.ts'

/**
 * The fields that the gateway itself understands. The kind of a field is found once, while its
 * name is read; those from HIDDEN on are never copied: they belong to one connection, or are
 * written by us and only by us.
 */
export const PLAIN = 0
export const DATE = 1
export const TRAILER = 2
/** Named by Connection, or forbidden in a trailer section: neither forwarded nor shown. */
export const HIDDEN = 3
export const HOST = 4
export const CONNECTION = 5
export const CONTENT_LENGTH = 6
export const TRANSFER_ENCODING = 7
export const EXPECT = 8
export const UPGRADE = 9
export const TE = 10
export const KEEP_ALIVE = 11

/** At its kind's number. The last ones have no constant: to know that they are hop-by-hop is all. */
const KNOWN: readonly string[] = [
  '',
  'date',
  'trailer',
  '',
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'expect',
  'upgrade',
  'te',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'http2-settings',
]

export const KINDS: number = KNOWN.length

/** Known names are shorter than this. */
const ROOM = 32

/** The kind at the length of its name and the last five bits of its first letter: none has both. */
const BY_SHAPE = new Uint8Array(ROOM * ROOM)
/** The bytes of each name, at its kind. */
const BYTES = new Uint8Array(KINDS * ROOM)
for (const [kind, name] of KNOWN.entries()) {
  if (name !== '') BY_SHAPE[name.length * ROOM + (name.charCodeAt(0) & 31)] = kind
  for (let i = 0; i < name.length; i++) BYTES[kind * ROOM + i] = name.charCodeAt(i)
}

/**
 * The kind of a name that is known to be a token. `content_length` and the like are hidden: there
 * are upstreams that do not tell an underscore from a dash.
 */
export function kindOfName(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from
  if (length >= ROOM) return PLAIN
  const kind = BY_SHAPE[length * ROOM + ((bytes[from] as number) & 31)] as number
  return kind === PLAIN ? PLAIN : confirmKind(bytes, from, length, kind)
}

/** Known names are letters, digits and dashes, and no other `tchar` becomes one of these. */
function confirmKind(bytes: Uint8Array, from: number, length: number, kind: number): number {
  let confirmed = kind
  for (let i = 0; i < length; i++) {
    const wanted = BYTES[kind * ROOM + i] as number
    const byte = bytes[from + i] as number
    if ((byte | LOWER) === wanted) continue
    if (byte !== UNDERSCORE || wanted !== DASH) return PLAIN
    confirmed = HIDDEN
  }
  return confirmed
}

/** Whether `text` from `from` to `to` is `lower` in any case. */
export function isSameName(text: string, from: number, to: number, lower: string): boolean {
  if (to - from !== lower.length) return false
  for (let i = 0; i < lower.length; i++) {
    if (FOLD[text.charCodeAt(from + i)] !== lower.charCodeAt(i)) return false
  }
  return true
}

/** Whether fields of that name are written by ./write.ts on its own account, or not at all. */
export function isReserved(name: string): boolean {
  return KNOWN.indexOf(name) > HIDDEN
}

/**
 * RFC 9110 §7.6.1: a field that is meant for all recipients is never a connection option. To
 * honour such an option would let a client take from the upstream what its rules were judged by.
 */
export function isEndToEnd(name: string): boolean {
  return END_TO_END.has(name) || /^(?:content|x-forwarded|sec)-/.test(name)
}

const END_TO_END: ReadonlySet<string> = new Set(
  `host transfer-encoding expect connection date authorization cookie set-cookie origin
   referer forwarded via x-real-ip x-request-id x-original-url x-rewrite-url traceparent tracestate
   accept accept-encoding cache-control vary etag location range age expires pragma warning
   user-agent www-authenticate proxy-authenticate proxy-authorization authentication-info
   max-forwards if-match if-none-match if-modified-since if-unmodified-since if-range
   last-modified retry-after access-control-allow-origin x-api-key`.split(/\s+/),
)

/**
 * RFC 9110 §6.5.1: what frames, routes, authenticates or changes the meaning of a message comes
 * too late in a trailer section, where it would get past what was decided from the head.
 */
export function isForbiddenTrailer(written: string): boolean {
  const known = KNOWN_TRAILERS.get(written)
  if (known !== undefined) return known
  const name = written.replaceAll('_', '-')
  const isForbidden = name === 'trailer' || isReserved(name) || isEndToEnd(name)
  if (KNOWN_TRAILERS.size < MAX_KNOWN_TRAILERS) KNOWN_TRAILERS.set(written, isForbidden)
  return isForbidden
}

/** The first ones that came: there are few names, unless somebody makes them up. */
const KNOWN_TRAILERS = new Map<string, boolean>()
const MAX_KNOWN_TRAILERS = 256
