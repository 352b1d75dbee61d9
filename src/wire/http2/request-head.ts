import { DEL, SPACE, TAB } from '../http1/ascii.ts'
import { isFieldText } from '../http1/field-lines.ts'
import { type RequestHead, readRequestHead } from '../http1/head.ts'
import { parseAuthority } from '../http1/host.ts'
import { type HeadLimits, isToken } from '../http1/message.ts'
import { refuse } from '../http1/refusals.ts'

/*
 * A request of HTTP/2 is written down as one of HTTP/1.1 and read like one, so that there is one
 * set of rules for what is understood. What could change its meaning on that way, such as the end
 * of a line in a value, is refused before it is written.
 */

/** Reads the names and values of a HEADERS frame. Answers 1 or a refusal. */
export function readHttp2Request(
  raw: readonly string[],
  endsStream: boolean,
  limits: HeadLimits,
  head: RequestHead,
): number {
  const text = renderAsHttp1(raw, endsStream)
  if (typeof text === 'number') return text
  const bytes = Buffer.from(text, 'latin1')
  const at = readRequestHead(bytes, 0, bytes.length, limits, head)
  if (at < 0) return at
  // Whatever ended early was not one head.
  if (at !== bytes.length) return refuse('bad-header-value')
  if (endsStream && head.framing !== 'none') return refuse('truncated-body')
  return 1
}

const PSEUDO: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path'])

/** RFC 9113 §8.2.2: fields that speak of a connection have no place here. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

function renderAsHttp1(raw: readonly string[], endsStream: boolean): string | number {
  const pseudo = new Map<string, string>()
  let host: string | undefined
  let cookie = ''
  let lines = ''
  let hasLength = false
  let inFields = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string
    const value = raw[i + 1] as string
    if (!isFieldText(value)) return refuseValue(value)
    if (isPadded(value)) return refuse('bad-header-value')
    if (name.startsWith(':')) {
      if (inFields || pseudo.has(name) || !PSEUDO.has(name)) return refuse('bad-header-name')
      pseudo.set(name, value)
      continue
    }
    inFields = true
    if (!isToken(name) || /[A-Z]/.test(name)) return refuse('bad-header-name')
    if (OF_CONNECTION.has(name)) return refuse('bad-connection')
    if (name === 'te' && value.toLowerCase() !== 'trailers') return refuse('bad-connection')
    if (name === 'host') {
      if (host !== undefined) return refuse('duplicate-host')
      host = value
      continue
    }
    if (name === 'cookie') {
      // RFC 9113 §8.2.3: split only for the sake of compression.
      cookie = cookie === '' ? value : `${cookie}; ${value}`
      continue
    }
    hasLength ||= name === 'content-length'
    lines += `${name}: ${value}\r\n`
  }
  const authority = agreeOnHost(pseudo.get(':authority'), host)
  if (typeof authority === 'number') return authority
  const line = requestLine(pseudo)
  if (typeof line === 'number') return line
  if (authority !== undefined) lines = `host: ${authority}\r\n${lines}`
  if (cookie !== '') lines += `cookie: ${cookie}\r\n`
  if (!endsStream && !hasLength) lines += 'transfer-encoding: chunked\r\n'
  return `${line}${lines}\r\n`
}

function requestLine(pseudo: ReadonlyMap<string, string>): string | number {
  const method = pseudo.get(':method') ?? ''
  const scheme = pseudo.get(':scheme')
  const path = pseudo.get(':path')
  if (!isToken(method)) return refuse('bad-method')
  if (method === 'CONNECT') {
    // RFC 9113 §8.5: what has more is the extended form, which is not offered.
    if (scheme !== undefined || path !== undefined) return refuse('bad-target')
    return `CONNECT ${pseudo.get(':authority') ?? ''} HTTP/1.1\r\n`
  }
  if (scheme !== 'http' && scheme !== 'https') return refuse('bad-target')
  if (path === undefined || !isVisible(path)) return refuse('bad-target')
  // The absolute form of HTTP/1.1 would be a second authority.
  if (!path.startsWith('/') && path !== '*') return refuse('bad-target')
  return `${method} ${path} HTTP/1.1\r\n`
}

/** The one host that both say, where both do; undefined where none does. */
function agreeOnHost(
  authority: string | undefined,
  host: string | undefined,
): string | number | undefined {
  if (authority === undefined || host === undefined) return authority ?? host
  const first = parseAuthority(authority)
  const second = parseAuthority(host)
  if (first === undefined || second === undefined) return refuse('bad-host')
  const isSame = first.host === second.host && first.port === second.port
  return isSame ? authority : refuse('host-mismatch')
}

function isVisible(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= SPACE || code >= DEL) return false
  }
  return text !== ''
}

/** RFC 9113 §8.2.1: no space or tab at either end. */
function isPadded(value: string): boolean {
  return isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1))
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB
}

/** The words that HTTP/1.1 has for the same octets. */
export function refuseValue(value: string): number {
  if (value.includes('\0')) return refuse('nul')
  if (value.includes('\n')) return refuse('bare-lf')
  return refuse(value.includes('\r') ? 'bare-cr' : 'bad-header-value')
}
