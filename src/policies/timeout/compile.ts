import type { Attachments, Part } from '../define.ts'
import type { Timeout } from './schema.ts'

export function compileTimeout([{ value }]: Attachments<Timeout>): Part {
  const { request, backendRequest, responseIdle } = value
  // If the time of the whole request is set, or set to unlimited, its parts get no shorter default.
  const otherwise = request === undefined ? undefined : 0
  return {
    timeouts: {
      request: request ?? 0,
      backendRequest: attemptTime(backendRequest ?? otherwise),
      responseIdle: attemptTime(responseIdle ?? otherwise),
    },
  }
}

/** `0s` disables the limit, which differs from not setting it. */
export function attemptTime(written: number | undefined): number {
  if (written === undefined) return 0
  return written === 0 ? Number.POSITIVE_INFINITY : written
}
