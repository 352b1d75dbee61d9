/**
 * A decision as it was recorded, one JSON object per line. Only the fields of the gateway's record
 * that are read here; all others are ignored.
 */
export interface RecordedDecision {
  readonly id: string
  readonly time: string
  readonly stage: string
  readonly verdict: 'allowed' | 'denied'
  readonly enforced: boolean
  /** Whether it was denied for one provider, and the request went on to another. */
  readonly skipped?: boolean
  readonly kind: string
  readonly cause: string
  /** What was wrong with the credentials. */
  readonly reason?: string
  readonly credentials?: PolicyName
  readonly rule?: RecordedRule
  readonly gateway: string
  readonly listener?: string
  readonly route?: string
  readonly backend?: string
  /** For an AI backend, the provider that was evaluated. */
  readonly provider?: string
  readonly method?: string
  readonly host?: string
  readonly path?: string
  readonly port?: number
  readonly source: string
  /** The connecting peer, if a trusted proxy names another client. */
  readonly peer?: string
  readonly sni?: string
  /** The variables that authentication set. */
  readonly identified?: readonly RecordedIdentity[]
  /** What was not set, and the names that were present next to it. */
  readonly variable?: string
  readonly present?: readonly string[]
  readonly attributes: readonly RecordedAttribute[]
}

/** A policy as attached at one place. */
export interface PolicyName {
  readonly policy: string
  readonly section: string
  readonly level: string
  readonly kind: string
}

export interface RecordedIdentity extends PolicyName {
  readonly variable: string
}

export interface RecordedRule {
  readonly policy: string
  readonly field: string
  readonly action: 'Allow' | 'Require' | 'Deny'
  readonly expression: string
}

export interface RecordedAttribute {
  readonly name: string
  readonly state: 'shown' | 'cut' | 'redacted' | 'unset'
  readonly value?: unknown
  /** The value has a type that JSON does not have. */
  readonly inexact?: boolean
  /** For an unset attribute, the first missing part of its name; by default, the whole name. */
  readonly missing?: string
  /** The type of the value that the missing part was looked up in, if it has no members. */
  readonly within?: string
}
