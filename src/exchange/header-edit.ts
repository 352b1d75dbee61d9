/** The value is text, which the wire sends in UTF-8. */
export type Header = readonly [name: string, value: string]

export const ALL_WRITTEN: readonly string[] = []

/**
 * Header changes that policies make to a message. Created when the configuration is loaded if
 * possible: equal edits are one object, and the wire caches its rendering.
 */
export class HeaderEdit {
  /** Names in lower case that are not copied: removed headers, and those that are replaced. */
  readonly removed: readonly string[]
  readonly added: readonly Header[]
  /** Names in lower case of headers that a policy was to write, whose value cannot be sent. */
  unwritten: readonly string[] = ALL_WRITTEN
  /** Rendered by the wire, once. */
  rendered: unknown = undefined
  /** The last sum, cached: edits of a route are combined in the same order every time. */
  #later: HeaderEdit | undefined = undefined
  #sum: HeaderEdit | undefined = undefined

  constructor(removed: readonly string[], added: readonly Header[]) {
    this.removed = removed
    this.added = added
  }

  /** Notes headers that are not sent; the message has none with these names. */
  lose(names: readonly string[]): this {
    const all = new Set([...this.unwritten, ...names.map((name) => name.toLowerCase())])
    if (all.size > 0) this.unwritten = [...all]
    return this
  }

  /** Combines this edit with a later one, which takes precedence. */
  with(later: HeaderEdit): HeaderEdit {
    if (this === NO_EDIT) return later
    if (later === NO_EDIT) return this
    if (this.#later === later && this.#sum !== undefined) return this.#sum
    const removed = new Set(later.removed)
    const kept = this.added.filter(([name]) => !removed.has(name.toLowerCase()))
    const all = [...new Set([...this.removed, ...removed])]
    this.#later = later
    this.#sum = new HeaderEdit(all, [...kept, ...later.added])
    if (this.unwritten.length > 0 || later.unwritten.length > 0) {
      this.#sum.lose(this.unwritten.filter((name) => !removed.has(name)))
      this.#sum.lose(later.unwritten)
    }
    return this.#sum
  }
}

export const NO_EDIT = new HeaderEdit([], [])

export interface HeaderChanges {
  readonly set?: readonly { readonly name: string; readonly value: string }[]
  readonly add?: readonly { readonly name: string; readonly value: string }[]
  readonly remove?: readonly string[]
}

export function headerEdit({ set = [], add = [], remove = [] }: HeaderChanges): HeaderEdit {
  const removed = [...remove, ...set.map(({ name }) => name)].map((name) => name.toLowerCase())
  const added = [...set, ...add].map(({ name, value }) => [name, value] as const)
  return removed.length + added.length === 0 ? NO_EDIT : new HeaderEdit(removed, added)
}
