/** One message to a user, from a YAML typo to a CEL type error to an unresolved backend. */
export interface Diagnostic {
  /** Stable: `PC0107`, `AZ004`. Every code has an entry in ./catalogue.ts and a page in docs/errors. */
  readonly code: string
  readonly severity: Severity
  readonly message: string
  readonly origin: Origin
  readonly hint?: string
  /** The text that the message speaks of, so that a caret can be drawn under `start`..`end`. */
  readonly excerpt?: Excerpt
}

export type Severity = 'error' | 'warning' | 'info'

/** Where a named thing was written. */
export type Origin = FileOrigin | ObjectOrigin

export interface FileOrigin {
  readonly kind: 'file'
  readonly file: string
  /**
   * Line and column count from 1; columns count code points. The line of a thing of the Model
   * follows its file (model/moves.ts): it is read when it is shown, not before.
   */
  readonly line: number
  readonly column: number
}

export interface ObjectOrigin {
  readonly kind: 'object'
  /** `ProxyPolicy default/allow-alice`, or any other name that the user knows. */
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
