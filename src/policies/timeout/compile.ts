import type { Attachments, Part } from '../define.ts'
import type { Timeout } from './schema.ts'

export function compileTimeout([{ value }]: Attachments<Timeout>): Part {
  const { request, backendRequest } = value
  // Who says how long all may take, or that it may take for ever, wants no shorter time for a part.
  const own = backendRequest ?? (request === undefined ? undefined : Number.POSITIVE_INFINITY)
  return { timeouts: { request: request ?? 0, backendRequest: attemptTime(own) } }
}

/** `0s` turns the limit off, which is not the same as saying nothing. */
export function attemptTime(written: number | undefined): number {
  if (written === undefined) return 0
  return written === 0 ? Number.POSITIVE_INFINITY : written
}
