import type { Attachments, Part } from '../define.ts'
import type { Timeout } from './schema.ts'

export function compileTimeout([{ value }]: Attachments<Timeout>): Part {
  const { request, backendRequest } = value
  // If the time of the whole request is set, or set to unlimited, attempts get no shorter default.
  const own = backendRequest ?? (request === undefined ? undefined : Number.POSITIVE_INFINITY)
  return { timeouts: { request: request ?? 0, backendRequest: attemptTime(own) } }
}

/** `0s` disables the limit, which differs from not setting it. */
export function attemptTime(written: number | undefined): number {
  if (written === undefined) return 0
  return written === 0 ? Number.POSITIVE_INFINITY : written
}
