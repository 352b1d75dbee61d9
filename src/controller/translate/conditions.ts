import type { Diagnostic } from '../../diagnostics/diagnostic.ts'

/** A condition of the Gateway API; times are added when it is written. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

/** Whether something is valid, and if not, the reason as defined by the Gateway API. */
export type Verdict = { readonly ok: true } | Rejection

export interface Rejection {
  readonly ok: false
  readonly reason: string
  readonly message: string
}

export const OK: Verdict = { ok: true }

export function reject(reason: string, message: string): Rejection {
  return { ok: false, reason, message }
}

/** The condition of a verdict; `reason` and `message` apply if it is positive. */
export function conditionOf(
  type: string,
  verdict: Verdict,
  reason = type,
  message = '',
): Condition {
  return verdict.ok
    ? { type, status: 'True', reason, message }
    : { type, status: 'False', reason: verdict.reason, message: verdict.message }
}

/** The first rejection. */
export function firstRejection(verdicts: readonly Verdict[]): Verdict {
  return verdicts.find((verdict) => !verdict.ok) ?? OK
}

/** The desired status of an object, before it is compared with the current one. */
export interface ObjectStatus {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly generation: number
  /** For objects that have their own conditions. */
  readonly conditions?: readonly Condition[]
  readonly listeners?: readonly ListenerStatus[]
  /** For a ListenerSet: the key of its Gateway. */
  readonly gateway?: string
  readonly addresses?: readonly { readonly type: string; readonly value: string }[]
  readonly attachedListenerSets?: number
  /** For classes. */
  readonly supportedFeatures?: readonly { readonly name: string }[]
  /** For routes: an entry for each parentRef. */
  readonly parents?: readonly RefStatus[]
  /** For policies: an entry for each Gateway that they reach. */
  readonly ancestors?: readonly RefStatus[]
}

export interface ListenerStatus {
  readonly name: string
  readonly supportedKinds: readonly { readonly group: string; readonly kind: string }[]
  readonly attachedRoutes: number
  readonly conditions: readonly Condition[]
}

export interface RefStatus {
  readonly ref: Readonly<Record<string, unknown>>
  readonly conditions: readonly Condition[]
}

export interface StatusWithDiagnostics {
  readonly status: ObjectStatus
  readonly diagnostics: readonly Diagnostic[]
}
