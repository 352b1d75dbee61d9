import type { PolicyPlace } from '../model/policy.ts'
import type { Reason } from '../telemetry/definitions/labels.ts'
import type { HeaderEdit } from './header-edit.ts'
import { NO_EDIT } from './header-edit.ts'

/** A response that the gateway generates. */
export interface Reply {
  readonly status: number
  readonly headers: HeaderEdit
  readonly body: string | Uint8Array
  readonly contentType: string
  /** The reason, as a stable word for logs and metrics. */
  readonly reason: Reason
  /** Further details, for the log only. */
  readonly detail?: string
  /** The message for clients of protocols with their own error format; contains no secrets. */
  readonly message?: string
  /** An error code, if the protocol has them: `model_not_found`. */
  readonly code?: string
  /** A URL where a user can resolve the cause, so that the next request is served. */
  readonly link?: string
  /** Every option was tried, so clients that retry automatically should not do so. */
  readonly isFinal?: boolean
  /**
   * Why it rejects although its status is a success, as for a preflight or an error in JSON-RPC;
   * for decision records only.
   */
  readonly rejects?: string
  /** The policy that rejects, if it is not the one whose step returned the reply. */
  readonly by?: PolicyPlace | undefined
}

/** Whether the gateway itself rejects the request with it: then there is a decision record. */
export function isRejection({ status, reason, rejects }: Reply): boolean {
  return rejects !== undefined || (status >= 400 && reason !== 'upstream')
}

/** A plain response; the wire renders it for the protocol of the client. */
export function reply(status: number, reason: Reason, body = '', headers = NO_EDIT): Reply {
  return {
    status,
    reason,
    body,
    headers,
    contentType: body === '' ? '' : 'text/plain; charset=utf-8',
  }
}
