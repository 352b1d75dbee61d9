import type { Diagnostic } from '../../diagnostics/diagnostic.ts'

/** All conditions that the controller writes; those of other types are of other controllers. */
export const CONDITION_TYPES = [
  'Accepted',
  'Attached',
  'Conflicted',
  'InsecureFrontendValidationMode',
  'Overridden',
  'PartiallyInvalid',
  'Programmed',
  'ResolvedRefs',
  'RulesHealthy',
] as const

export type ConditionType = (typeof CONDITION_TYPES)[number]

/** A condition of the Gateway API; times are added when it is written. */
export interface Condition {
  readonly type: ConditionType
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  /** It does not replace a condition of the same generation. */
  readonly isProvisional?: boolean
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
  type: ConditionType,
  verdict: Verdict,
  reason: string = type,
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

/** All rejections as one, with the reason of the first: what is wrong is fixed at once. */
export function allRejections(verdicts: readonly Verdict[]): Verdict {
  const rejections = verdicts.filter((verdict) => !verdict.ok)
  const [first] = rejections
  if (first === undefined) return OK
  const messages = new Set(rejections.map(({ message }) => message))
  return reject(first.reason, [...messages].join('; '))
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
  /**
   * For a policy that reaches no Gateway of this controller: the entry is written only if no other
   * controller has one, since the policy may be meant for that one.
   */
  readonly isClaim?: boolean
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
