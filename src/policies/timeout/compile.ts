import type { Attachments, Part } from '../define.ts'
import type { Timeout } from './schema.ts'

/** Milliseconds. */
export interface Timeouts {
  /** From the request's head to the end of the response; 0: none. */
  readonly request: number
  /** For each attempt, from the end of the request to the response's head; 0: nothing is said. */
  readonly backendRequest: number
}

export const NO_TIMEOUTS: Timeouts = { request: 0, backendRequest: 0 }

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
