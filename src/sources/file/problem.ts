/** Something that is wrong between two offsets of the text. */
export interface Problem {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly start: number
  readonly end: number
}
