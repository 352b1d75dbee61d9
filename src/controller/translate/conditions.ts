import type { Diagnostic } from '../../diagnostics/diagnostic.ts'

/** A condition as the Gateway API has it; who writes it adds the times. */
export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
}

/** Whether something holds, and in the words of the Gateway API why not. */
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

/** The condition of a verdict; `reason` and `message` are those of a positive one. */
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

/** The first that does not hold. */
export function firstRejection(verdicts: readonly Verdict[]): Verdict {
  return verdicts.find((verdict) => !verdict.ok) ?? OK
}

/** What the status of one object is to be, before it is compared with what it is. */
export interface ObjectStatus {
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly generation: number
  /** Of objects with conditions of their own. */
  readonly conditions?: readonly Condition[]
  readonly listeners?: readonly ListenerStatus[]
  /** Of a ListenerSet: the Gateway that it belongs to, by its key. */
  readonly gateway?: string
  readonly addresses?: readonly { readonly type: string; readonly value: string }[]
  readonly attachedListenerSets?: number
  /** Of classes. */
  readonly supportedFeatures?: readonly { readonly name: string }[]
  /** Of routes, for each parentRef. */
  readonly parents?: readonly RefStatus[]
  /** Of policies, for each Gateway that they reach. */
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
