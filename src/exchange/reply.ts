import type { Reason } from '../telemetry/definitions/labels.ts'
import type { HeaderEdit } from './header-edit.ts'
import { NO_EDIT } from './header-edit.ts'

/** A response that the gateway gives itself. */
export interface Reply {
  readonly status: number
  readonly headers: HeaderEdit
  readonly body: string | Uint8Array
  readonly contentType: string
  /** Why, in one stable word, for logs and metrics. */
  readonly reason: Reason
  /** More about it, for the log alone. */
  readonly detail?: string
  /** What clients of protocols with errors of their own read of it; nothing that is a secret. */
  readonly message?: string
  /** A word for programs, where the protocol has one: `model_not_found`. */
  readonly code?: string
  /** Where a person can see to it that the next request is served. */
  readonly link?: string
  /** All that could be tried was: clients that retry by themselves are told not to. */
  readonly isFinal?: boolean
}

/** A plain response; what the client reads is the wire's to write in its own protocol. */
export function reply(status: number, reason: Reason, body = '', headers = NO_EDIT): Reply {
  return {
    status,
    reason,
    body,
    headers,
    contentType: body === '' ? '' : 'text/plain; charset=utf-8',
  }
}
