import type { Http2Limits } from './limits.ts'

/**
 * By how much the window of a stream grows whose body is taken as quickly as it comes: it doubles,
 * up to that of the connection, so that fewer frames tell the client to go on. What is held for one
 * that is not taken any more is bounded by the window of the connection as ever.
 */
export function windowGrowth(window: number, { connectionWindow }: Http2Limits): number {
  return Math.max(0, Math.min(window, connectionWindow - window))
}
