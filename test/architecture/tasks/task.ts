/** One of the common tasks of ARCHITECTURE.md, as a contributor would do it. */
export interface Task {
  /** The first cell of its row in the table. */
  readonly row: string
  /** A word that occurs only in the files written for the task. */
  readonly marker: string
  readonly newFiles: Readonly<Record<string, string>>
  readonly edits: Readonly<Record<string, readonly Edit[]>>
  /** The files that `npm run golden` writes for it, except golden Models. */
  readonly generated: readonly string[]
  /** Golden Models contain it. */
  readonly isInModels?: boolean
  /** A module whose `result` shows that it works. */
  readonly trial: string
  readonly expected: unknown
  /** The tests that check every item of its kind. */
  readonly tests: readonly string[]
}

/** `added` is inserted before the line that begins with `before`; `now` replaces the text `was`. */
export type Edit =
  | { readonly before: string; readonly added: string }
  | { readonly was: string; readonly now: string }
