import type { ResponseHead } from '../wire/http1/response-head.ts'
import type { CallOutName } from './call-outs.ts'
import type { Forward } from './forward.ts'

/** Decides about attempts: ./delivery.ts. */
export interface ForwardEvents {
  /** The head is sent: the body may follow. */
  sent(forward: Forward): void
  /** Returns whether this response goes to the client; otherwise the attempt is over. */
  accepts(forward: Forward, head: ResponseHead): boolean
  /** There is no response yet. `isUntouched`: the upstream did not even begin to respond. */
  withoutResponse(forward: Forward, status: number, reason: string, isUntouched: boolean): void
  /** The response began, and was cut short. */
  cut(forward: Forward, reason: string): void
  /** Something threw, whatever the event. */
  broke(callOut: CallOutName, error: unknown): void
}
