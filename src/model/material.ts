/** A string from the configuration, or from a file that the configuration names. */
export interface Material {
  /** The file that the string was read from. */
  readonly file?: string
  readonly text: string
}

/**
 * The same for secret settings of the process. A Model uses a SecretRef instead: see ./secret.ts.
 */
export interface Secret {
  readonly file?: string
  readonly secret: string
}
