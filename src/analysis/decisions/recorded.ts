/**
 * A decision as it was recorded, one JSON object in a line. Of the record of the gateway this is
 * what is read here; what else stands in the line is passed over.
 */
export interface RecordedDecision {
  readonly id: string
  readonly time: string
  readonly stage: string
  readonly verdict: 'allowed' | 'denied'
  readonly enforced: boolean
  /** Denied for one provider, while the request went on to another. */
  readonly skipped?: boolean
  readonly kind: string
  readonly cause: string
  /** Of credentials, what was wrong with them. */
  readonly reason?: string
  readonly credentials?: PolicyName
  readonly rule?: RecordedRule
  readonly gateway: string
  readonly listener?: string
  readonly route?: string
  readonly backend?: string
  /** Of an AI backend: the one that was looked at. */
  readonly provider?: string
  readonly method?: string
  readonly host?: string
  readonly path?: string
  readonly port?: number
  readonly source: string
  /** Who connected, where a trusted proxy names another client. */
  readonly peer?: string
  readonly sni?: string
  /** The variables that authentication set. */
  readonly identified?: readonly RecordedIdentity[]
  /** What was not set, and names of what was there beside it. */
  readonly variable?: string
  readonly present?: readonly string[]
  readonly attributes: readonly RecordedAttribute[]
}

/** A policy as it is attached at one place. */
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
  /** The value is of a type that JSON does not have. */
  readonly inexact?: boolean
  /** Of what is unset: the first part of its name that was not there; all of it, if it is not said. */
  readonly missing?: string
  /** The type of what that was looked for in, if it has no members. */
  readonly within?: string
}
