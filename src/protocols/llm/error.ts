import type { Reply } from '../../exchange/reply.ts'
import type { PolicyPlace } from '../../model/policy.ts'

/** Vendor-neutral error types; each dialect writes them in its own format. */
export type LlmErrorType =
  | 'invalidRequest'
  | 'authentication'
  | 'billing'
  | 'permission'
  | 'notFound'
  | 'conflict'
  | 'tooLarge'
  | 'rateLimit'
  | 'timeout'
  | 'overloaded'
  | 'server'

export interface LlmError {
  /** The HTTP status; inside a stream, it only selects the wording. */
  readonly status: number
  readonly type: LlmErrorType
  readonly message: string
  /** A stable code for programs, as OpenAI's: `model_not_found`, `context_length_exceeded`. */
  readonly code?: string | undefined
  /** The request field at fault. */
  readonly param?: string | undefined
  /** In milliseconds; sent as `retry-after` and `retry-after-ms`. */
  readonly retryAfterMs?: number | undefined
  /** If false, `x-should-retry: false` is sent, since SDKs retry by themselves. */
  readonly shouldRetry?: boolean | undefined
  readonly requestId?: string | undefined
  /** A response that the user configured, in place of the dialect's format. */
  readonly written?: Pick<Reply, 'body' | 'contentType' | 'headers'> | undefined
  /** The policy that rejects, if a guard does. */
  readonly by?: PolicyPlace | undefined
}

export type Header = readonly [name: string, value: string]

export interface WireError {
  readonly status: number
  readonly headers: readonly Header[]
  readonly body: Uint8Array
}

/** Returns the type for a status, used if the provider sends nothing more specific. */
export function typeOfStatus(status: number): LlmErrorType {
  const known = TYPES_BY_STATUS[status]
  if (known !== undefined) return known
  return status >= 500 ? 'server' : 'invalidRequest'
}

const TYPES_BY_STATUS: Readonly<Record<number, LlmErrorType | undefined>> = {
  401: 'authentication',
  402: 'billing',
  403: 'permission',
  404: 'notFound',
  408: 'timeout',
  409: 'conflict',
  413: 'tooLarge',
  429: 'rateLimit',
  503: 'overloaded',
  504: 'timeout',
  529: 'overloaded',
}

/** Returns the headers that SDKs act on, the same for every dialect. */
export function errorHeaders(error: LlmError): Header[] {
  const headers: Header[] = [['content-type', 'application/json']]
  const { retryAfterMs } = error
  if (retryAfterMs !== undefined) {
    headers.push(['retry-after', String(Math.ceil(retryAfterMs / 1000))])
    headers.push(['retry-after-ms', String(Math.ceil(retryAfterMs))])
  }
  if (error.shouldRetry !== undefined) headers.push(['x-should-retry', String(error.shouldRetry)])
  return headers
}

export function invalidRequest(message: string, param?: string, code?: string): LlmError {
  return { status: 400, type: 'invalidRequest', message, param, code }
}
