/**
 * RFC 9110 §9.2.2: what an upstream may have begun to do is not asked for again by a proxy, unless
 * doing it twice is the same as doing it once.
 */
export const IDEMPOTENT: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PUT',
  'DELETE',
])

/** HTTP/2 tells which requests were not even looked at. */
export const UNSEEN: ReadonlySet<string> = new Set(['goaway', 'refused-stream'])
/** How often one that was not looked at is sent again. */
export const MAX_UNSEEN = 2
