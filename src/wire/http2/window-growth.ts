import type { Http2Limits } from './limits.ts'

/**
 * The growth of a stream's window if its body is consumed as quickly as it arrives: the window
 * doubles, up to that of the connection, so that fewer WINDOW_UPDATE frames are needed. If the body
 * is no longer consumed, held bytes are still bounded by the connection window.
 */
export function windowGrowth(window: number, { connectionWindow }: Http2Limits): number {
  return Math.max(0, Math.min(window, connectionWindow - window))
}
