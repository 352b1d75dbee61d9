import { reject, rejectionOf } from '../../src/wire/http1/rejections.ts'
import { plainChunks, plainLength } from './http1-body.plain.ts'
import type { PlainField } from './http1-head.plain.ts'
import { plainPath } from './http1-path.plain.ts'
import { plainRequest } from './http1-request.plain.ts'

/*
 * A reference implementation of the gateway for everything that one client sends: the requests that
 * reach the upstream complete, and the responses that the client receives.
 */

export interface PlainSeen {
  readonly method: string
  readonly target: string
  readonly fields: readonly string[]
  readonly body: string
}

export interface PlainExchanges {
  readonly seen: readonly PlainSeen[]
  readonly statuses: readonly number[]
  /** The gateway closes the connection after the last response. */
  readonly isClosed: boolean
}

export const LIMITS = { head: 65_536, target: 8_192, fields: 100 }
const BODIES = { extensions: 4_096, trailers: 8_192, trailerFields: 32 }

export function plainExchanges(text: string): PlainExchanges {
  const seen: PlainSeen[] = []
  const statuses: number[] = []
  for (let at = 0; ; ) {
    const request = plainRequest(text.slice(at), LIMITS)
    if (request === 'more') return { seen, statuses, isClosed: false }
    const rejected = (status: number) => ({ seen, statuses: [...statuses, status], isClosed: true })
    // A client that speaks another protocol could not read a response.
    if (request === 'not-http') return { seen, statuses, isClosed: true }
    if (typeof request === 'string') return rejected(statusOf(request))
    if (request.form === 'authority') return rejected(405)
    const path = plainPath(request.path)
    if (typeof path !== 'string') return rejected(statusOf(path.rejected))
    const rest = text.slice(at + request.consumed)
    const body = plainBody(request.framing, request.length, rest)
    if (body.verdict === 'more') return { seen, statuses, isClosed: false }
    if (body.verdict !== 'done') return rejected(statusOf(body.verdict))
    const { method, query, fields } = request
    seen.push({ method, target: `${path}${query}`, fields: endToEnd(fields), body: body.data })
    statuses.push(200)
    if (!request.keepAlive) return { seen, statuses, isClosed: true }
    at += request.consumed + body.consumed
  }
}

/**
 * Returns the requests in the bytes that an upstream received, the length of their bytes, and the
 * error in the rest.
 */
export function plainReceived(text: string) {
  const seen: PlainSeen[] = []
  for (let at = 0; ; ) {
    const request = plainRequest(text.slice(at), LIMITS)
    if (typeof request === 'string') return { seen, consumed: at, rest: request }
    const body = plainBody(request.framing, request.length, text.slice(at + request.consumed))
    if (body.verdict !== 'done') return { seen, consumed: at, rest: body.verdict }
    const { method, target, fields } = request
    seen.push({ method, target, fields: endToEnd(fields), body: body.data })
    at += request.consumed + body.consumed
  }
}

function plainBody(framing: string, length: number, text: string) {
  if (framing === 'chunked') return plainChunks(text, BODIES)
  return plainLength(text, framing === 'length' ? length : 0)
}

const OF_CONNECTION = new Set(
  `host connection content-length transfer-encoding expect upgrade te keep-alive proxy-connection
   proxy-authenticate proxy-authorization http2-settings trailer`.split(/\s+/),
)

function endToEnd(fields: readonly PlainField[]): readonly string[] {
  return fields
    .filter(([name, , isHidden]) => !isHidden && !OF_CONNECTION.has(name.toLowerCase()))
    .map(([name, value]) => `${name.toLowerCase()}: ${value}`)
}

function statusOf(word: Parameters<typeof reject>[0]): number {
  return rejectionOf(reject(word)).status
}
