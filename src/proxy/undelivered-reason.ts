import { NO_EDIT } from '../exchange/header-edit.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { Reason } from '../telemetry/definitions/labels.ts'
import { isReset } from './provider-failure.ts'
import { RETRY_AFTER } from './replies.ts'

/** The label in metrics of a backend that did not respond. */
export function undeliveredReason(status: number, reason: string): Reason {
  if (reason === 'bad-rewrite') return 'invalid-configuration'
  if (reason === 'no-endpoint' || reason === 'unhealthy') return 'no-backend'
  if (reason === 'overloaded' || reason === 'pending-timeout') return 'overload'
  if (status === 503 || reason === 'connect-timeout') return 'upstream-connect'
  if (status === 504) return 'upstream-timeout'
  return isReset(reason) ? 'upstream-reset' : 'upstream-invalid'
}

/** The response to the client. `tries`: for a call to a model, how often it was retried. */
export function undeliveredReply(status: number, reason: string, tries = 0): Reply {
  const isBusy = reason === 'overloaded' || reason === 'pending-timeout'
  const headers = isBusy ? RETRY_AFTER : NO_EDIT
  const said = { ...reply(status, undeliveredReason(status, reason), '', headers), detail: reason }
  return tries > 0 ? { ...said, isFinal: true } : said
}
