import type { AttemptOutcome } from './request-state.ts'

/** One request to a backend, for metrics. */
export interface Attempted {
  readonly outcome: AttemptOutcome
  readonly purpose: 'proxy' | 'retry' | 'mirror'
  /** Milliseconds until the first byte of the response; -1: there was none. */
  readonly firstByte: number
}

export type RetryReason = 'status' | 'condition' | 'connect' | 'reset' | 'timeout'

const STATUS_OUTCOMES = ['invalid', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** The label of a response in metrics. */
export function outcomeOf(status: number): AttemptOutcome {
  // RFC 9110 §15: 600 to 999 count as 5xx.
  return STATUS_OUTCOMES[Math.min(5, Math.trunc(status / 100))] ?? 'invalid'
}
