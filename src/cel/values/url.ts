import { fail } from './failure.ts'
import { afford, MAX_STRING, overBound } from './fuel.ts'
import { isIpv6Text } from './ip.ts'
import { utf8Encode } from './text.ts'

/** A URL, or an absolute path with its query, as in a request line. */
export class Url {
  /** In lower case; empty for a path. */
  readonly scheme: string
  /** Includes the port, and the brackets of IPv6. */
  readonly host: string
  /** Percent-encoded. */
  readonly path: string
  /** As written, without the question mark. */
  readonly query: string
  readonly text: string

  constructor({ scheme, host, path, query }: Parts, text: string) {
    this.scheme = scheme
    this.host = host
    this.path = path
    this.query = query
    this.text = text
    Object.freeze(this)
  }

  /** The host without its port, and without the brackets of IPv6. */
  get hostname(): string {
    const name = this.host.slice(0, this.host.length - this.#portText().length)
    return name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name
  }

  get port(): string {
    return this.#portText().slice(1)
  }

  #portText(): string {
    const colon = this.host.lastIndexOf(':')
    const text = colon < 0 ? '' : this.host.slice(colon)
    return PORT.test(text) ? text : ''
  }

  toString(): string {
    return this.text
  }
}

interface Parts {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
  /** The whole URL in one spelling, without the fragment. */
  readonly text: string
}

const PORT = /^(?::[0-9]*)?$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: what no URL has
const CONTROL = /[\0-\x1f\x7f]/
const SCHEME = /^([A-Za-z][A-Za-z0-9+.-]*):/
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/

/**
 * Accepts the URLs that Kubernetes accepts, that is, those that both Go's `ParseRequestURI` and
 * `Parse` accept: a scheme and what it names, or an absolute path. Hosts that are not UTF-8 once
 * decoded are rejected.
 */
export function parseUrl(text: string): Url | undefined {
  if (!afford(50 + text.length)) return undefined
  const hash = text.indexOf('#')
  const fragment = hash < 0 ? '' : text.slice(hash)
  const isUrl = !CONTROL.test(text) && !BAD_ESCAPE.test(fragment)
  const whole = isUrl ? readParts(text, true) : undefined
  // A request has no fragments, and `//host` is a path there; the second reading handles both.
  const parts = whole && readParts(hash < 0 ? text : text.slice(0, hash), false)
  if (parts === undefined) return fail('invalid URL', text)
  const full = parts.text + (fragment === '#' ? '' : fragment)
  return full.length > MAX_STRING ? overBound('string too long') : new Url(parts, full)
}

function readParts(text: string, isRequest: boolean): Parts | undefined {
  if (text === '*') return { scheme: '', host: '', path: '*', query: '', text }
  const written = SCHEME.exec(text)?.[1] ?? ''
  const scheme = written.toLowerCase()
  const prefix = scheme === '' ? '' : `${scheme}:`
  const mark = text.indexOf('?')
  const rest = text.slice(prefix.length, mark < 0 ? undefined : mark)
  const search = mark < 0 ? '' : text.slice(mark)
  const query = search.slice(1)
  if (!rest.startsWith('/')) {
    if (scheme === '') return undefined
    return { scheme, host: '', path: '', query, text: prefix + rest + search }
  }
  const hasHost = scheme !== '' || (!isRequest && !rest.startsWith('///'))
  const slash = hasHost && rest.startsWith('//') ? rest.indexOf('/', 2) : 0
  const authority = rest.slice(0, slash < 0 ? undefined : slash)
  const host = readAuthority(scheme, authority.slice(2))
  const path = escapedPath(rest.slice(authority.length))
  if (host === undefined || path === undefined) return undefined
  const user = authority.slice(0, authority.lastIndexOf('@') + 1) || authority.slice(0, 2)
  return { scheme, host, path, query, text: prefix + user + encodeHost(host) + path + search }
}

const BAD_USER = /[^A-Za-z0-9\-._:~!$&'()*+,;=%@]/

function readAuthority(scheme: string, authority: string): string | undefined {
  const at = authority.lastIndexOf('@')
  const user = authority.slice(0, Math.max(0, at))
  if (BAD_USER.test(user) || BAD_ESCAPE.test(user)) return undefined
  const host = authority.slice(at + 1)
  return host.includes('[') ? readIpv6(host) : readHost(scheme, host)
}

/** Colons other than the port's are for lists of hosts, as in the URLs of databases. */
function readHost(scheme: string, host: string): string | undefined {
  const isWeb = scheme === 'http' || scheme === 'https'
  const colon = isWeb ? host.indexOf(':') : host.lastIndexOf(':')
  if (colon >= 0 && !PORT.test(host.slice(colon))) return undefined
  return decodeHost(host)
}

/** `[::1]:80`; a zone follows `%25`. */
function readIpv6(host: string): string | undefined {
  const end = host.lastIndexOf(']')
  const port = host.slice(end + 1)
  if (host.lastIndexOf('[') !== 0 || end < 0 || !PORT.test(port)) return undefined
  const inside = host.slice(1, end)
  const at = inside.indexOf('%25')
  if (at < 0) return isIpv6Text(inside) ? host : undefined
  const zone = decodeZone(inside.slice(at + 3))
  if (!isIpv6Text(inside.slice(0, at)) || zone === undefined || zone === '') return undefined
  return `[${inside.slice(0, at)}%${zone}]${port}`
}

/** In a host, only non-ASCII characters and the percent sign may be escaped. */
const BAD_HOST = /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\x80-\uffff]|%(?!25|[89A-Fa-f][0-9A-Fa-f])/
/** In a zone, only characters that are also allowed without an escape, and the space. */
const BAD_ZONE =
  /[^A-Za-z0-9\-_.~!$&'()*+,;=:[\]<>"%\x80-\uffff]|%(?!2[0-24-9A-Ea-e]|3[0-9A-Ea-e]|[46][1-9A-Fa-f]|5[0-9ABDFabdf]|7[0-9AEae])/

function decodeHost(host: string): string | undefined {
  return BAD_HOST.test(host) ? undefined : decode(host)
}

/** One spelling for characters that can be escaped or not. */
function encodeHost(host: string): string {
  return host.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent)
}

function decodeZone(zone: string): string | undefined {
  return BAD_ZONE.test(zone) ? undefined : decode(zone)
}

function decode(text: string): string | undefined {
  if (!text.includes('%')) return text
  if (!afford(text.length)) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const UNCLEAN_PATH = /[^A-Za-z0-9\-_.~$&+,/:;=@!'()*[\]%]/

/** As written; if it contains characters that must be escaped, all of it is escaped anew. */
function escapedPath(path: string): string | undefined {
  if (BAD_ESCAPE.test(path)) return undefined
  if (!UNCLEAN_PATH.test(path)) return path
  if (!afford(4 * path.length)) return undefined
  const bytes = utf8Encode(path)
  let escaped = ''
  for (let at = 0; at < bytes.length; at++) {
    const isEscape = bytes[at] === PERCENT
    const byte = isEscape ? hexByte(bytes, at + 1) : (bytes[at] as number)
    if (isEscape) at += 2
    escaped += PATH_BYTES[byte]
  }
  return escaped
}

const PERCENT = 37

const PATH_BYTES: readonly string[] = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte)
  if (/[A-Za-z0-9\-_.~$&+,/:;=@]/.test(character)) return character
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
})

function hexByte(bytes: Uint8Array, at: number): number {
  return Number.parseInt(String.fromCharCode(bytes[at] as number, bytes[at + 1] as number), 16)
}
