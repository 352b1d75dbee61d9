import type { IncomingMessage, ServerResponse } from 'node:http'
import * as z from 'zod'
import type { Caller, Role } from '../callers.ts'
import type { ApiDeps } from './deps.ts'

export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

/** One operation of the API; the OpenAPI document is generated from these. */
export interface Endpoint {
  readonly method: Method
  /** Such as `/api/config/resources/{kind}/{id}`. */
  readonly path: string
  readonly summary: string
  readonly role: Role
  readonly query?: z.ZodObject
  readonly body?: z.ZodType
  /** The content type of the body, by default JSON; for other types, the body is a string. */
  readonly bodyType?: string
  /** The request headers that the operation reads. */
  readonly headers?: Readonly<Record<string, string>>
  /** The responses by status; any other status is a problem document. */
  readonly responses: Readonly<Record<number, ResponseShape>>
  /** Whether it responds even before the stored edits are known, because it shows none. */
  readonly isEarly?: true
  readonly run: (call: Call, deps: ApiDeps) => Promise<ApiReply> | ApiReply
}

export interface ResponseShape {
  readonly description: string
  readonly schema?: z.ZodType
  /** By default JSON. */
  readonly type?: string
}

export interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly caller: Caller
  /** The parts of the path in braces. */
  readonly parts: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: unknown
}

export interface ApiReply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Serialized as JSON; a string with its own content type is sent unchanged. */
  readonly body?: unknown
  /** Further fields for the audit trail, such as the values before and after. */
  readonly audited?: Readonly<Record<string, string | number>>
  /** An action that would prevent the audit record from being written; runs after it. */
  readonly afterAudit?: () => void
  /** The response has already been written. */
  readonly isWritten?: true
}

/** An error in the format of RFC 9457. */
export function problem(
  status: number,
  detail: string,
  more: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): ApiReply {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...headers },
    body: { type: 'about:blank', title: TITLES[status] ?? 'Error', status, detail, ...more },
  }
}

/** Any JSON value, under one name in the OpenAPI document. */
export const anyJson = z.json().meta({ id: 'Json' })

export const problemSchema = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('The problem and how to fix it.'),
  })
  .meta({ id: 'Problem' })

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  428: 'Precondition Required',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
}

export function ok(body: unknown, headers: Readonly<Record<string, string>> = {}): ApiReply {
  return { status: 200, headers, body }
}

/** Prevents framing, content sniffing and caching of responses. */
export const GUARDING = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const
