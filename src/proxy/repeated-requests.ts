import type { RequestHead } from '../wire/http1/head.ts'

/**
 * RFC 9110 §9.2.2: a proxy does not repeat a request that an upstream may have begun to process,
 * unless the method is idempotent.
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

/** HTTP/2 reports which requests were not processed. */
export const UNSEEN: ReadonlySet<string> = new Set(['goaway', 'refused-stream'])
/**
 * How often a request is sent again that was not processed, or was lost with a connection that
 * carries others: each time, it may be on a connection that is about to end.
 */
export const MAX_REPEATS = 5
