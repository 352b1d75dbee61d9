import type { Attachments, Part } from '../define.ts'
import type { Timeout } from './schema.ts'

/** Milliseconds; 0: none. */
export interface Timeouts {
  /** From the request's head to the end of the answer. */
  readonly request: number
  /** For each attempt, until the answer's head. */
  readonly backendRequest: number
}

export const NO_TIMEOUTS: Timeouts = { request: 0, backendRequest: 0 }

export function compileTimeout([{ value }]: Attachments<Timeout>): Part {
  const { request = 0, backendRequest = 0 } = value
  return { timeouts: { request, backendRequest } }
}
