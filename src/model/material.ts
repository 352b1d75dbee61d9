/** Text that stands in the configuration, or in a file that the configuration names. */
export interface Material {
  /** The file that the text was read from. */
  readonly file?: string
  readonly text: string
}

/**
 * The same for settings of the process that must not be shown. What a Model uses is a SecretRef:
 * see ./secret.ts.
 */
export interface Secret {
  readonly file?: string
  readonly secret: string
}
