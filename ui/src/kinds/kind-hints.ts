/** What the form of a kind shows first; all of it is data. */
export interface FormHints {
  /** Members that are shown even if they are not set, in this order. */
  readonly first: readonly string[]
}

/** Something to add to a resource, with a button for it. */
export interface Start {
  readonly id: string
  /** After the word Add: `a model`. */
  readonly label: string
  /** Where its value is added: keys, of which the last may be a list. */
  readonly to: readonly string[]
  /** Added to the list, or set if it is none. */
  readonly value: unknown
  readonly isItem: boolean
}

export interface KindHints {
  /** One resource of this kind, with its article. */
  readonly noun: string
  readonly plural: string
  readonly what: string
  /** The value of a new resource. */
  readonly start: unknown
  readonly starts: readonly Start[]
  /** By place: `models[].params` in the kind, or `apiKey:keys[]` in a definition of the schema. */
  readonly forms: Readonly<Record<string, FormHints>>
}

const first = (...keys: readonly string[]): FormHints => ({ first: keys })

export { first }
