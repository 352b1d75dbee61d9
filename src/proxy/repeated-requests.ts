import type { RequestHead } from '../wire/http1/head.ts'

/**
 * RFC 9110 §9.2.2: what an upstream may have begun to do is not asked for again by a proxy, unless
 * doing it twice is the same as doing it once.
 */
const IDEMPOTENT: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PUT',
  'DELETE',
])

export function isRepeatable({ framing, method }: RequestHead): boolean {
  return framing === 'none' && IDEMPOTENT.has(method)
}

/** HTTP/2 tells which requests were not even looked at. */
export const UNSEEN: ReadonlySet<string> = new Set(['goaway', 'refused-stream'])
/**
 * How often one request is sent again that was not looked at, or was lost with a connection that
 * carries others: each time it may be on one that is about to end.
 */
export const MAX_REPEATS = 5
