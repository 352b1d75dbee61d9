// HOT PATH: identifies fields by the bytes of their names.
// Guarded by bench/http1-head.ts; equals test/fuzz/http1-head.plain.ts on any input.
// Liberties: one lookup by length and first letter, then bytes compared in place.

import { DASH, FOLD, LOWER, UNDERSCORE } from './ascii.ts'

/**
 * The fields that the gateway itself understands. The kind of a field is determined once, while its
 * name is read. Kinds from HIDDEN on are never copied: they belong to one connection, or only the
 * gateway writes them.
 */
export const PLAIN = 0
export const DATE = 1
export const TRAILER = 2
/**
 * Named by Connection, or forbidden in a trailer section: neither forwarded nor visible to rules.
 */
export const HIDDEN = 3
export const HOST = 4
export const CONNECTION = 5
export const CONTENT_LENGTH = 6
export const TRANSFER_ENCODING = 7
export const EXPECT = 8
export const UPGRADE = 9
export const TE = 10
export const KEEP_ALIVE = 11

/** Indexed by kind. The last names have no constant: only that they are hop-by-hop matters. */
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
/** Not copied either, since the gateway writes its own, but visible to rules. */
export const REPLACED: number = KINDS + 1

/** Known names are shorter than this. */
const ROOM = 32

/**
 * The kind, indexed by length and the last five bits of the first letter: no two names share both.
 */
const BY_SHAPE = new Uint8Array(ROOM * ROOM)
/** The bytes of each name, indexed by kind. */
const BYTES = new Uint8Array(KINDS * ROOM)
for (const [kind, name] of KNOWN.entries()) {
  if (name !== '') BY_SHAPE[name.length * ROOM + (name.charCodeAt(0) & 31)] = kind
  for (let i = 0; i < name.length; i++) BYTES[kind * ROOM + i] = name.charCodeAt(i)
}

/**
 * The kind of a name that is a valid token. `content_length` and the like are hidden: some
 * upstreams do not distinguish an underscore from a dash.
 */
export function kindOfName(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from
  if (length >= ROOM) return PLAIN
  const kind = BY_SHAPE[length * ROOM + ((bytes[from] as number) & 31)] as number
  return kind === PLAIN ? PLAIN : confirmKind(bytes, from, length, kind)
}

/**
 * Known names are letters, digits and dashes, and folding maps no other `tchar` to one of these.
 */
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

/** Whether `text` from `from` to `to` equals `lower`, ignoring case. */
export function isSameName(text: string, from: number, to: number, lower: string): boolean {
  if (to - from !== lower.length) return false
  for (let i = 0; i < lower.length; i++) {
    if (FOLD[text.charCodeAt(from + i)] !== lower.charCodeAt(i)) return false
  }
  return true
}

/** Whether fields of that name are written only by ./write.ts, or never. */
export function isReserved(name: string): boolean {
  return KNOWN.indexOf(name) > HIDDEN
}

/**
 * RFC 9110 §7.6.1: a field for all recipients is never a connection option. Honoring such an option
 * would let a client remove from the upstream request what the rules evaluated.
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
 * RFC 9110 §6.5.1: fields that frame, route, authenticate or change the meaning of a message are
 * too late in a trailer section, where they would bypass decisions made from the head.
 */
export function isForbiddenTrailer(written: string): boolean {
  const known = KNOWN_TRAILERS.get(written)
  if (known !== undefined) return known
  const name = written.replaceAll('_', '-')
  const isForbidden = name === 'trailer' || isReserved(name) || isEndToEnd(name)
  if (KNOWN_TRAILERS.size < MAX_KNOWN_TRAILERS) KNOWN_TRAILERS.set(written, isForbidden)
  return isForbidden
}

/** A bounded cache: there are few names, unless a client invents them. */
const KNOWN_TRAILERS = new Map<string, boolean>()
const MAX_KNOWN_TRAILERS = 256
