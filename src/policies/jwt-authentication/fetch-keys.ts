import { type IncomingMessage, request as requestPlain } from 'node:http'
import { type RequestOptions, request as requestSecure } from 'node:https'
import { isIP } from 'node:net'
import {
  FORBIDDEN,
  guardedLookup,
  isForbiddenAddress,
  isInternalHost,
  type Resolve,
} from './address-guard.ts'

export type Fetched =
  | { readonly kind: 'text'; readonly text: string; readonly maxAge: number | undefined }
  | { readonly kind: 'refused' | 'failed' | 'timeout'; readonly detail: string }

/** Fetches the text of a key set; never throws. */
export type FetchKeys = (url: string) => Promise<Fetched>

export interface FetchLimits {
  readonly timeout: number
  readonly bytes: number
  readonly redirects: number
  readonly resolve?: Resolve
  /** Certificates to trust instead of the system's. */
  readonly ca?: string
}

const LIMITS: FetchLimits = { timeout: 5000, bytes: 1_048_576, redirects: 3 }

/**
 * Sends one GET and follows redirects on the host that the configuration names. The name alone
 * determines whether the host may have a private address; see ./address-guard.ts.
 */
export function keyFetcher(limits: Partial<FetchLimits> = {}): FetchKeys {
  const all = { ...LIMITS, ...limits }
  return async (url) => {
    const signal = AbortSignal.timeout(all.timeout)
    try {
      let at = new URL(url)
      for (let left = all.redirects; ; left--) {
        const next = await fetchOnce(at, all, signal)
        if (!(next instanceof URL)) return next
        if (!isSameHost(at, next)) return rejected(`redirected to another host: ${next.host}`)
        if (left === 0) return rejected('too many redirects')
        at = next
      }
    } catch (error) {
      const { code, message } = error as Error & { readonly code?: unknown }
      if (signal.aborted) return { kind: 'timeout', detail: `no response within ${all.timeout} ms` }
      return { kind: code === FORBIDDEN ? 'refused' : 'failed', detail: message }
    }
  }
}

function rejected(detail: string): Fetched {
  return { kind: 'refused', detail }
}

/** A redirect may upgrade http to https; never the reverse. */
function isSameHost(from: URL, to: URL): boolean {
  if (to.username !== '' || to.password !== '') return false
  if (from.protocol === to.protocol) return from.host === to.host
  return from.hostname === to.hostname && to.protocol === 'https:'
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

async function fetchOnce(url: URL, limits: FetchLimits, signal: AbortSignal) {
  // A literal address is not resolved, so the guarded lookup does not check it.
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(literal) !== 0 && isForbiddenAddress(literal, true)) {
    return rejected(`fetching keys from ${literal} is not allowed`)
  }
  const response = await ask(url, limits, signal)
  try {
    const { statusCode = 0, headers } = response
    if (REDIRECTS.has(statusCode) && headers.location !== undefined) {
      return URL.canParse(headers.location, url)
        ? new URL(headers.location, url)
        : rejected('redirected to an invalid URL')
    }
    if (statusCode !== 200) return { kind: 'failed', detail: `status ${statusCode}` } as const
    if (headers['content-encoding'] !== undefined) return rejected('the response is compressed')
    const text = await readText(response, limits.bytes)
    if (text === undefined) return rejected(`the response is larger than ${limits.bytes} bytes`)
    return { kind: 'text', text, maxAge: maxAgeOf(headers['cache-control']) } as const
  } finally {
    response.destroy()
  }
}

function ask(url: URL, limits: FetchLimits, signal: AbortSignal): Promise<IncomingMessage> {
  const options: RequestOptions = {
    agent: false,
    signal,
    lookup: guardedLookup(isInternalHost(url.hostname), limits.resolve),
    headers: { accept: 'application/jwk-set+json, application/json' },
    ...(limits.ca === undefined ? {} : { ca: limits.ca }),
  }
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? requestSecure : requestPlain
    const asking = send(url, options, resolve)
    asking.on('error', reject)
    // A pending fetch does not keep the process alive.
    asking.on('socket', (socket) => socket.unref())
    asking.end()
  })
}

async function readText(response: IncomingMessage, max: number): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > max) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** In milliseconds. */
function maxAgeOf(cacheControl: string | undefined): number | undefined {
  if (cacheControl === undefined) return undefined
  if (/(?:^|[\s,])no-(?:store|cache)(?:$|[\s,])/i.test(cacheControl)) return 0
  const age = /(?:^|[\s,])max-age="?(\d{1,9})/i.exec(cacheControl)?.[1]
  return age === undefined ? undefined : Number(age) * 1000
}
