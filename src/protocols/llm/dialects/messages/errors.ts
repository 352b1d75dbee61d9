import type { HeaderLookup } from '../../dialect.ts'
import {
  errorHeaders,
  type LlmError,
  type LlmErrorType,
  typeOfStatus,
  type WireError,
} from '../../error.ts'
import { encodeJson } from '../../json.ts'
import { type Fields, obj, readProviderBody, str } from '../../reading.ts'
import { retryAfterOf } from '../../retry-after.ts'
import { STATUS_IN_STREAM } from '../openai-errors.ts'

const WORDS: Readonly<Record<LlmErrorType, string>> = {
  invalidRequest: 'invalid_request_error',
  authentication: 'authentication_error',
  billing: 'billing_error',
  permission: 'permission_error',
  notFound: 'not_found_error',
  conflict: 'conflict_error',
  tooLarge: 'request_too_large',
  rateLimit: 'rate_limit_error',
  timeout: 'timeout_error',
  overloaded: 'overloaded_error',
  server: 'api_error',
}

export function anthropicError(error: LlmError): Fields {
  return {
    type: 'error',
    error: { type: WORDS[error.type], message: error.message },
    request_id: error.requestId ?? null,
  }
}

export function writeError(error: LlmError): WireError {
  const headers = errorHeaders(error)
  if (error.requestId !== undefined) headers.push(['request-id', error.requestId])
  return { status: error.status, headers, body: encodeJson(anthropicError(error)) }
}

export function readError(status: number, header: HeaderLookup, bytes: Uint8Array): LlmError {
  const body = readProviderBody(bytes)
  return {
    ...anthropicErrorFrom(obj(body?.['error']), status),
    retryAfterMs: retryAfterOf(header),
    requestId: header('request-id') ?? (str(body?.['request_id']) || undefined),
  }
}

export function anthropicErrorFrom(fields: Fields, status: number): LlmError {
  const word = str(fields['type'])
  const named = (Object.keys(WORDS) as LlmErrorType[]).find((type) => WORDS[type] === word)
  const type = named ?? (status === 0 ? 'server' : typeOfStatus(status))
  return {
    // Only Anthropic uses 529.
    status: status === 0 ? STATUS_IN_STREAM[type] : status === 529 ? 503 : status,
    type,
    message: str(fields['message']) || `The provider failed with status ${status || 'unknown'}.`,
  }
}
