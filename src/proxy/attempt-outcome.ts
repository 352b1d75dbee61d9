import type { AttemptOutcome } from './request-state.ts'

const STATUS_OUTCOMES = ['invalid', '1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** The label of a response in metrics. */
export function outcomeOf(status: number): AttemptOutcome {
  // RFC 9110 §15: 600 to 999 count as 5xx.
  return STATUS_OUTCOMES[Math.min(5, Math.trunc(status / 100))] ?? 'invalid'
}
