/** One message to a user, from a YAML typo to a CEL type error to an unresolved backend. */
export interface Diagnostic {
  /** Stable: `PC0107`, `AZ004`. Every code is in ./catalogue.ts and has a page in docs/errors. */
  readonly code: string
  readonly severity: Severity
  readonly message: string
  readonly origin: Origin
  readonly hint?: string
  /** The text that the message refers to, so that a caret can be drawn under `start`..`end`. */
  readonly excerpt?: Excerpt
}

export type Severity = 'error' | 'warning' | 'info'

/** The place where something was written. */
export type Origin = FileOrigin | ObjectOrigin

export interface FileOrigin {
  readonly kind: 'file'
  readonly file: string
  /**
   * Line and column count from 1; columns count code points. The line of something in the Model
   * follows its file (model/moves.ts), so it must be read when it is shown, not before.
   */
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
