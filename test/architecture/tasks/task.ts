/** One of the common tasks of ARCHITECTURE.md, as somebody would do it. */
export interface Task {
  /** The first cell of its row in the table. */
  readonly row: string
  /** A word that nothing else in the tree has: what is written for the task contains it. */
  readonly marker: string
  readonly newFiles: Readonly<Record<string, string>>
  readonly edits: Readonly<Record<string, readonly Edit[]>>
  /** What `npm run golden` writes for it, golden Models left out. */
  readonly generated: readonly string[]
  /** Golden Models contain it. */
  readonly isInModels?: boolean
  /** A module whose `result` shows that it works. */
  readonly trial: string
  readonly expected: unknown
  /** Those that look at every one of its kind. */
  readonly tests: readonly string[]
}

/** `added` is a line before the one that begins with `before`; `now` replaces the text `was`. */
export type Edit =
  | { readonly before: string; readonly added: string }
  | { readonly was: string; readonly now: string }
