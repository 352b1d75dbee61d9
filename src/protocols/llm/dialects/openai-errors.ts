import type { HeaderLookup } from '../dialect.ts'
import {
  errorHeaders,
  type LlmError,
  type LlmErrorType,
  typeOfStatus,
  type WireError,
} from '../error.ts'
import { encodeJson } from '../json.ts'
import { type Fields, obj, readProviderBody, str } from '../reading.ts'
import { retryAfterOf } from '../retry-after.ts'

const WORDS: Readonly<Record<LlmErrorType, string>> = {
  invalidRequest: 'invalid_request_error',
  authentication: 'authentication_error',
  billing: 'insufficient_quota',
  permission: 'permission_error',
  notFound: 'not_found_error',
  conflict: 'conflict_error',
  tooLarge: 'invalid_request_error',
  rateLimit: 'rate_limit_error',
  timeout: 'timeout_error',
  overloaded: 'server_error',
  server: 'server_error',
}

/** Codes used if the error itself has none. */
const CODES: Partial<Record<LlmErrorType, string>> = {
  rateLimit: 'rate_limit_exceeded',
  overloaded: 'overloaded',
  timeout: 'timeout',
  tooLarge: 'request_too_large',
}

/** The `error` member, the same in bodies and in streams of chat completions. */
export function openaiError(error: LlmError): Fields {
  return {
    message: error.message,
    type: WORDS[error.type],
    param: error.param ?? null,
    code: codeOf(error) ?? null,
  }
}

export function codeOf(error: LlmError): string | undefined {
  return error.code ?? CODES[error.type]
}

export function writeOpenaiError(error: LlmError): WireError {
  const headers = errorHeaders(error)
  if (error.requestId !== undefined) headers.push(['x-request-id', error.requestId])
  return { status: error.status, headers, body: encodeJson({ error: openaiError(error) }) }
}

export function readOpenaiError(status: number, header: HeaderLookup, bytes: Uint8Array): LlmError {
  const body = readProviderBody(bytes)
  return {
    ...errorFrom(obj(body?.['error']), status),
    retryAfterMs: retryAfterOf(header),
    requestId: header('x-request-id'),
  }
}

/** `status` is the status of the response, or 0 for an error inside a stream, which has none. */
export function errorFrom(fields: Fields, status: number): LlmError {
  const word = str(fields['type'])
  const code = str(fields['code']) || undefined
  const type = status === 0 ? typeOfWord(word, code) : typeOfStatus(status)
  return {
    status: status === 0 ? STATUS_IN_STREAM[type] : status,
    type: code === 'insufficient_quota' ? 'billing' : type,
    message: str(fields['message']) || `The provider failed with status ${status || 'unknown'}.`,
    code,
    param: str(fields['param']) || undefined,
  }
}

function typeOfWord(word: string, code: string | undefined): LlmErrorType {
  if (code === 'rate_limit_exceeded' || word === 'rate_limit_error') return 'rateLimit'
  if (code === 'overloaded' || word === 'overloaded_error') return 'overloaded'
  if (word === 'invalid_request_error') return 'invalidRequest'
  return 'server'
}

/** The status that an error would have had before the first byte. */
export const STATUS_IN_STREAM: Readonly<Record<LlmErrorType, number>> = {
  invalidRequest: 400,
  authentication: 401,
  billing: 402,
  permission: 403,
  notFound: 404,
  conflict: 409,
  tooLarge: 413,
  rateLimit: 429,
  timeout: 504,
  overloaded: 503,
  server: 500,
}
