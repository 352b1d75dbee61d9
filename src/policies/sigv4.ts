import { createHash, createHmac } from 'node:crypto'
import type { AwsCredentials } from './aws-keys.ts'
import type { Header } from './service-headers.ts'

/** A request to sign with AWS Signature Version 4, in headers. */
export interface AwsRequest {
  readonly method: string
  /** As sent, encoded once. */
  readonly path: string
  /** As sent, without the question mark. */
  readonly query?: string | undefined
  /** All of them are signed; must include `host`. */
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

export interface AwsScope {
  readonly region: string
  readonly service: string
  readonly credentials: AwsCredentials
  readonly now: Date
}

const ALGORITHM = 'AWS4-HMAC-SHA256'

/** Returns the headers to add. */
export function signAws(request: AwsRequest, scope: AwsScope): readonly Header[] {
  const { region, service, credentials, now } = scope
  const time = now.toISOString().replace(/\.\d+|[:-]/g, '')
  const date = time.slice(0, 8)
  const added: Header[] = [['x-amz-date', time]]
  if (credentials.sessionToken !== undefined) {
    added.push(['x-amz-security-token', credentials.sessionToken])
  }
  const headers = canonicalHeaders([...request.headers, ...added])
  const names = headers.map(([name]) => name).join(';')
  const canonical = [
    request.method,
    canonicalPath(request.path),
    canonicalQuery(request.query ?? ''),
    ...headers.map(([name, value]) => `${name}:${value}`),
    '',
    names,
    sha256(request.body),
  ].join('\n')
  const place = `${date}/${region}/${service}/aws4_request`
  const text = [ALGORITHM, time, place, sha256(canonical)].join('\n')
  let key: Buffer = hmac(`AWS4${credentials.secretAccessKey}`, date)
  for (const part of [region, service, 'aws4_request']) key = hmac(key, part)
  const signature = hmac(key, text).toString('hex')
  const credential = `${credentials.accessKeyId}/${place}`
  const value = `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`
  return [...added, ['authorization', value]]
}

/** Encodes each segment once more, as all services except S3 require. */
function canonicalPath(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') segments.pop()
    else segments.push(encode(segment))
  }
  const end = segments.length > 0 && /\/\.{0,2}$/.test(path) ? '/' : ''
  return `/${segments.join('/')}${end}`
}

function canonicalQuery(query: string): string {
  if (query === '') return ''
  return query
    .split('&')
    .map((pair) => {
      const at = pair.indexOf('=')
      const name = at < 0 ? pair : pair.slice(0, at)
      return [encode(decode(name)), encode(decode(at < 0 ? '' : pair.slice(at + 1)))] as const
    })
    .sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
}

function canonicalHeaders(headers: readonly Header[]): readonly Header[] {
  const joined = new Map<string, string>()
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    const plain = value.trim().replace(/ +/g, ' ')
    const before = joined.get(lower)
    joined.set(lower, before === undefined ? plain : `${before},${plain}`)
  }
  return [...joined].sort(([a], [b]) => compare(a, b))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** RFC 3986: only unreserved characters are kept. */
function encode(text: string): string {
  const toHex = (letter: string): string =>
    `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
  return encodeURIComponent(text).replace(/[!'()*]/g, toHex)
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

function hmac(key: string | Buffer, data: string): Buffer {
  return createHmac('sha256', key).update(data).digest()
}
