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
}

/** A plain answer; what the client reads is the wire's to write in its own protocol. */
export function reply(status: number, reason: Reason, body = '', headers = NO_EDIT): Reply {
  return {
    status,
    reason,
    body,
    headers,
    contentType: body === '' ? '' : 'text/plain; charset=utf-8',
  }
}
