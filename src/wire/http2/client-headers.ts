import type { HeadLimits } from '../http1/message.ts'
import { unpadded } from '../http1/padding.ts'
import { refuse } from '../http1/rejections.ts'
import { type ResponseHead, readResponseHead } from '../http1/response-head.ts'
import { type HeaderList, renderFields } from './headers.ts'

export interface Http2Request {
  readonly headers: HeaderList
  /** The body comes with chunk framing, which must be taken off again. */
  readonly isChunked: boolean
  /** What the request wants to switch to, in lower case; mostly nothing. */
  readonly upgrade: string
}

/** A request head that ../http1/write.ts rendered, as HTTP/2 writes it. */
export function requestHeaders(head: string, scheme: string, authority: string): Http2Request {
  const lineEnd = head.indexOf('\r\n')
  const methodEnd = head.indexOf(' ')
  const targetEnd = head.indexOf(' ', methodEnd + 1)
  const fields: HeaderList = []
  let host = ''
  let isChunked = false
  let upgrade = ''
  for (let at = lineEnd + 2; ; ) {
    const end = head.indexOf('\r\n', at)
    if (end <= at) break
    const colon = head.indexOf(':', at)
    const name = head.slice(at, colon).toLowerCase()
    const value = unpadded(head.slice(colon + 1, end))
    at = end + 2
    if (name === 'host') host = value
    else if (name === 'transfer-encoding') isChunked = true
    else if (name === 'upgrade') upgrade = value.toLowerCase()
    // The one that is left is `te`, which says so by itself here.
    else if (name !== 'connection') fields.push(name, value)
  }
  const headers = [
    ':method',
    head.slice(0, methodEnd),
    ':scheme',
    scheme,
    ':authority',
    host === '' ? authority : host,
    ':path',
    head.slice(methodEnd + 1, targetEnd),
    ...fields,
  ]
  return { headers, isChunked, upgrade }
}

const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])

/**
 * Reads a response's HEADERS frame as HTTP/1.1 would. Answers 1 or a refusal. A body of unknown
 * length is one that ends with its connection: then nobody expects it to have chunks.
 * `switching`: lines that make the 2xx of an extended CONNECT a 101.
 */
export function readHttp2Response(
  raw: readonly string[],
  method: string,
  limits: HeadLimits,
  head: ResponseHead,
  switching = '',
): number {
  const status = raw[1] ?? ''
  if (raw[0] !== ':status' || !/^[1-9][0-9][0-9]$/.test(status)) return refuse('bad-status-line')
  // RFC 9113 §8.6: there is no switching of protocols.
  if (status === '101') return refuse('bad-status-line')
  for (let i = 2; i < raw.length; i += 2)
    if (OF_CONNECTION.has(raw[i] as string)) return refuse('bad-connection')
  const lines = renderFields(raw, 2)
  if (typeof lines === 'number') return lines
  const isSwitched = switching !== '' && status.startsWith('2')
  const start = isSwitched ? `101 Switching Protocols\r\n${switching}` : `${status} \r\n`
  const bytes = Buffer.from(`HTTP/1.1 ${start}${lines}\r\n`, 'latin1')
  const at = readResponseHead(bytes, 0, bytes.length, limits, method, head)
  if (at < 0) return at
  return at === bytes.length ? 1 : refuse('bad-header-value')
}
