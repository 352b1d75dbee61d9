export type Header = readonly [name: string, value: string]

/**
 * Header changes that policies make to a message. Created when the configuration is loaded if
 * possible: equal edits are one object, and the wire caches its rendering.
 */
export class HeaderEdit {
  /** Names in lower case that are not copied: removed headers, and those that are replaced. */
  readonly removed: readonly string[]
  readonly added: readonly Header[]
  /** Rendered by the wire, once. */
  rendered: unknown = undefined
  /** The last sum, cached: edits of a route are combined in the same order every time. */
  #later: HeaderEdit | undefined = undefined
  #sum: HeaderEdit | undefined = undefined

  constructor(removed: readonly string[], added: readonly Header[]) {
    this.removed = removed
    this.added = added
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
