/** One message to a user, from a YAML typo to a CEL type error to an unresolved backend. */
export interface Diagnostic {
  /** Stable: `PC0107`, `AZ004`. Every code is in ./catalogue.ts and has a page in docs/errors. */
  readonly code: string
  readonly severity: Severity
  readonly message: string
  /** A position once it is located: see ./places.ts. */
  readonly origin: Origin | Position
  readonly hint?: string
  /** The text that the message refers to, so that a caret can be drawn under `start`..`end`. */
  readonly excerpt?: Excerpt
}

export type Severity = 'error' | 'warning' | 'info'

/**
 * The place where something was written, as the Model records it. It has no line, so that nothing
 * changes when lines are inserted above; the source that has the text finds it (./places.ts).
 */
export type Origin = PartOrigin | ObjectOrigin

/** A field of a named part of a file. */
export interface PartOrigin {
  readonly kind: 'part'
  readonly file: string
  /** `routes/orders`, `gateways/default`, `llm`; `routes[3]` if it has no name. */
  readonly part: string
  /** The path below it, such as `policies.authorization.rules[1]`; empty for the part itself. */
  readonly field: string
  /** In diagnostics: the value instead of its key, or an offset within the text of the value. */
  readonly at?: 'value' | number
}

/** A place in the text of a file. */
export interface Position {
  readonly kind: 'file'
  readonly file: string
  /** Line and column count from 1; columns count code points. */
  readonly line: number
  readonly column: number
}

export interface ObjectOrigin {
  readonly kind: 'object'
  /** `ProxyPolicy default/allow-alice`, or any other name known to the user. */
  readonly object: string
  /** `spec.traffic.authorization.policy.matchExpressions[0]` */
  readonly field: string
}

export interface Excerpt {
  readonly text: string
  /** UTF-16 offsets into `text`, end exclusive. */
  readonly start: number
  readonly end: number
}
