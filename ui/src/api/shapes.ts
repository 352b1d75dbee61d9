/** What the admin API responds, as far as the UI reads it; `/api/openapi.json` describes all of it. */
export interface Health {
  readonly version: string
  readonly isReady: boolean
  readonly detail: string
  readonly storage: {
    readonly mode: 'readonly' | 'database'
    readonly isWritable: boolean
    readonly revision: number
    readonly isConnected: boolean | null
    readonly problem: string | null
  }
  readonly diagnostics: { readonly errors: number; readonly warnings: number }
}

/** Who uses the API. */
export interface Session {
  readonly name: string
  readonly role: 'viewer' | 'editor' | 'admin'
  /** Where to sign out; null: there is no sign-in. */
  readonly logout: string | null
}

export interface Diagnostic {
  readonly code: string
  readonly severity: 'error' | 'warning' | 'info'
  readonly message: string
  readonly hint?: string
  readonly origin?: Origin
}

export type Origin =
  | { readonly kind: 'file'; readonly file: string; readonly line: number; readonly column: number }
  | { readonly kind: 'object'; readonly object: string; readonly field: string }

export type Counts = Readonly<Record<string, number>>

export interface MetricsSummary {
  readonly requests: {
    readonly total: number
    readonly active: number
    readonly byStatus: Counts
    readonly byRoute: Counts
    readonly byReason: Counts
  }
  readonly decisions: { readonly byVerdict: Counts; readonly deniedByPolicy: Counts }
  readonly authenticationFailures: number
  readonly llm: { readonly requests: Counts; readonly tokens: Counts; readonly cost: Counts }
}

export type ActionName = 'Allow' | 'Require' | 'Deny'

export interface Guard {
  readonly kind: string
  readonly policy: string
  readonly level: string
  readonly origin: string
  readonly isEnforced: boolean
  readonly isInvalid: boolean
  readonly rules?: readonly { readonly action: ActionName; readonly expression: string }[]
}

export type ProtectionName =
  | 'guarded'
  | 'partly-guarded'
  | 'unprotected'
  | 'no-backend'
  | (string & {})

export interface EffectivePart {
  readonly name: string
  readonly guards: readonly Guard[]
  readonly protection?: ProtectionName
}

export interface EffectiveBackend {
  readonly backend: string
  readonly guards: readonly Guard[]
  readonly providers?: readonly EffectivePart[]
  readonly targets?: readonly EffectivePart[]
}

export interface EffectiveRoute {
  readonly route: string
  readonly rule: string
  readonly hostnames: readonly string[]
  readonly matches?: readonly string[]
  readonly guards: readonly Guard[]
  readonly backends: readonly EffectiveBackend[]
  readonly protection: ProtectionName
}

export interface EffectiveListener {
  readonly gateway: string
  readonly listener: string
  readonly protocol: string
  readonly port: number
  readonly guards: readonly Guard[]
  readonly routes: readonly EffectiveRoute[]
}

export interface Effective {
  readonly listeners: readonly EffectiveListener[]
}

export interface RuleRecord {
  readonly policy: string
  readonly action: ActionName
  readonly expression: string
  readonly mode: 'Enforce' | 'Audit'
  readonly origin: string
  readonly level: string
}

export interface Miss {
  readonly condition: string
  readonly wanted: boolean
  readonly cause: string
  readonly reason?: string
  readonly variable?: string
  readonly present?: readonly string[]
}

export interface Attribute {
  readonly name: string
  readonly state: string
  readonly value?: unknown
}

export interface Decision {
  readonly id: string
  readonly time: string
  readonly kind: string
  readonly stage: string
  readonly verdict: 'allowed' | 'denied'
  readonly enforced: boolean
  readonly cause: string
  readonly reason?: string
  readonly detail?: string
  readonly variable?: string
  readonly rule?: RuleRecord
  readonly nearest?: RuleRecord & { readonly misses: readonly Miss[] }
  readonly invalid?: { readonly policy: string; readonly origin: string }
  readonly credentials?: { readonly method: string; readonly policy: string }
  readonly gateway: string
  readonly listener?: string
  readonly route?: string
  readonly backend?: string
  readonly method?: string
  readonly host?: string
  readonly path?: string
  readonly status?: number
  readonly source: string
  readonly sni?: string
  readonly attributes: readonly Attribute[]
}

export interface Condition {
  readonly text: string
  /** Absent: it could not be evaluated. */
  readonly value?: unknown
  readonly reason?: string
  readonly operands?: readonly { readonly text: string; readonly value?: unknown }[]
}

export interface ExplainedRule extends RuleRecord {
  readonly value?: unknown
  readonly reason?: string
  readonly cause?: string
  readonly conditions?: readonly Condition[]
}

export interface Explained {
  readonly outcome: string
  readonly status?: number
  readonly reason?: string
  readonly gateway?: string
  readonly listener?: string
  readonly route?: string
  readonly notes?: readonly string[]
  readonly stages: readonly {
    readonly stage: string
    readonly verdict: string
    readonly cause: string
    readonly deciding: number
    readonly rules: readonly ExplainedRule[]
  }[]
}

export interface ResourceSummary {
  readonly kind: string
  readonly id: string
  readonly origin: 'baseline' | 'database' | 'merged'
  readonly isHidden: boolean
  readonly etag: string
  readonly revision: number | null
  readonly author: string | null
  readonly time: string | null
  readonly drift: readonly string[]
}

export interface Resource extends ResourceSummary {
  readonly value: unknown
  readonly baseline: unknown
  readonly provenance: Readonly<Record<string, 'baseline' | 'database'>>
}

export interface Change {
  readonly action: 'set' | 'delete' | 'revert'
  readonly kind: string
  readonly id: string
  readonly value?: unknown
  readonly ifMatch?: string
}

export interface Validation {
  readonly isValid: boolean
  readonly diagnostics: readonly Diagnostic[]
}

export interface Outcome {
  readonly isAdmitted: boolean
  readonly route?: string
  readonly reason: string
}

export interface ExampleRequest {
  readonly method?: string
  readonly path?: string
  readonly query?: string
  readonly host?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly source?: string
  readonly identity?: Readonly<Record<string, unknown>>
}

export interface Suggestions {
  readonly suggestions: readonly Suggestion[]
  readonly without: readonly { readonly route: string; readonly why: string }[]
}

export interface Suggestion {
  readonly route: string
  readonly admitted: number
  readonly denied: number
  readonly notKnown: number
  readonly replaces: readonly string[]
  readonly tightens: 'yes' | 'no' | 'unknown'
  readonly rules: readonly {
    readonly expression: string
    readonly admits: number
    readonly denies: number
    readonly example: ExampleRequest
    readonly wouldDeny: readonly ExampleRequest[]
  }[]
}

export interface Difference {
  readonly kind: 'admitted' | 'refused' | (string & {})
  readonly listener: string
  readonly route?: string
  readonly backend?: string
  readonly example?: ExampleRequest
  readonly old: Outcome
  readonly now: Outcome
}

export interface DiffReport {
  readonly differences: readonly Difference[]
  readonly untold: readonly { readonly route?: string; readonly why: string }[]
}

export interface ReplayReport {
  readonly requests: number
  readonly unchanged: number
  readonly changed: readonly unknown[]
  readonly unknown: readonly unknown[]
}

export interface HistoryEntry {
  readonly revision: number
  readonly kind: string
  readonly id: string
  readonly action: string
  readonly author: string
  readonly comment: string
  readonly time: string
  readonly state: 'set' | 'hidden' | 'reset'
  readonly before: unknown
  readonly after: unknown
}

export interface ConfigOutline {
  readonly file: string
  readonly mode: 'readonly' | 'database'
  readonly revision: number
  readonly digest: string | null
  readonly counts: Counts
  readonly edits: {
    readonly merged: number
    readonly added: number
    readonly hidden: number
    readonly drifted: number
  }
}

export interface Catalogue {
  readonly backends: readonly {
    readonly backend: string
    readonly models: readonly { readonly name: string; readonly provider: string }[]
    readonly virtualModels: readonly { readonly name: string; readonly routing: string }[]
    readonly providers: readonly {
      readonly name: string
      readonly provider: string
      readonly group: number
      readonly address: string
    }[]
  }[]
}

export interface McpServers {
  readonly backends: readonly {
    readonly backend: string
    readonly servers: readonly { readonly name: string; readonly transport: string }[]
  }[]
}

export interface PlaygroundResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly isCut: boolean
  readonly milliseconds: number
}
