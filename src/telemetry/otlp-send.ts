import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

export type OtlpSendResult =
  | {
      readonly status: number
      /** Milliseconds, if the collector specifies it. */
      readonly retryAfter: number | undefined
      readonly body: Uint8Array
    }
  | { readonly error: string }

/** Sends a body to a collector. Calls back exactly once and never throws. */
export type OtlpSend = (
  body: Uint8Array,
  contentType: string,
  done: (result: OtlpSendResult) => void,
) => void

export interface OtlpSendOptions {
  /** The whole URL, such as `http://collector:4318/v1/traces`. */
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds for the whole exchange. */
  readonly timeout?: number
}

/** Responses are a few bytes; reading a longer one is an error. */
const MAX_RESPONSE = 64 << 10

/** OTLP over HTTP on a persistent connection. */
export function createOtlpSend({ url, headers, timeout = 10_000 }: OtlpSendOptions): OtlpSend {
  const isSecure = new URL(url).protocol === 'https:'
  const request = isSecure ? httpsRequest : httpRequest
  const agent = new (isSecure ? HttpsAgent : HttpAgent)({ keepAlive: true, maxSockets: 1 })
  return (body, contentType, done) => {
    let isDone = false
    const finish = (result: OtlpSendResult) => {
      if (isDone) return
      isDone = true
      clearTimeout(deadline)
      done(result)
    }
    const outgoing = request(url, {
      agent,
      method: 'POST',
      headers: { ...headers, 'content-type': contentType, 'content-length': body.length },
    })
    const deadline = setTimeout(() => {
      finish({ error: `no response within ${timeout} ms` })
      outgoing.destroy()
    }, timeout).unref()
    outgoing.on('error', (error) => finish({ error: error.message }))
    outgoing.on('response', (incoming) => readResponse(incoming, finish))
    outgoing.end(body)
  }
}

function readResponse(incoming: IncomingMessage, finish: (result: OtlpSendResult) => void): void {
  const chunks: Uint8Array[] = []
  let size = 0
  incoming.on('data', (chunk: Uint8Array) => {
    size += chunk.length
    if (size > MAX_RESPONSE) incoming.destroy(new Error('the response is too large'))
    else chunks.push(chunk)
  })
  incoming.on('error', (error) => finish({ error: error.message }))
  incoming.on('end', () => {
    const { statusCode = 0, headers } = incoming
    const retryAfter = parseRetryAfter(headers['retry-after'], Date.now())
    finish({ status: statusCode, retryAfter, body: Buffer.concat(chunks) })
  })
}

/** RFC 9110 §10.2.3: seconds or a date; returned as milliseconds from now. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000
  if (!/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(header)) {
    return undefined
  }
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
