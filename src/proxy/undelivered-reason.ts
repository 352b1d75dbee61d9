import type { Reason } from '../telemetry/definitions/labels.ts'
import { isReset } from './delivery.ts'

/** The word of the metrics for a backend that did not answer. */
export function undeliveredReason(status: number, reason: string): Reason {
  if (reason === 'bad-rewrite') return 'invalid-configuration'
  if (reason === 'no-endpoint' || reason === 'unhealthy') return 'no-backend'
  if (reason === 'overloaded' || reason === 'pending-timeout') return 'overload'
  if (status === 503 || reason === 'connect-timeout') return 'upstream-connect'
  if (status === 504) return 'upstream-timeout'
  return isReset(reason) ? 'upstream-reset' : 'upstream-invalid'
}
