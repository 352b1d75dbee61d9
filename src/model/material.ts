/** Text that stands in the configuration, or in a file that the configuration names. */
export interface Material {
  /** The file that the text was read from. */
  readonly file?: string
  readonly text: string
}

/** The same for what must not be shown: keys, passwords, tokens. */
export interface Secret {
  readonly file?: string
  readonly secret: string
}
