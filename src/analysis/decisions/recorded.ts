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
  readonly credentials?: { readonly policy: string; readonly kind: string }
  readonly rule?: RecordedRule
  readonly gateway: string
  readonly listener?: string
  readonly route?: string
  readonly backend?: string
  readonly method?: string
  readonly host?: string
  readonly path?: string
  readonly source: string
  readonly sni?: string
  /** What was not set, and names of what was there beside it. */
  readonly variable?: string
  readonly present?: readonly string[]
  readonly attributes: readonly RecordedAttribute[]
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
}
