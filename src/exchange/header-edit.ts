export type Header = readonly [name: string, value: string]

/**
 * What policies change in the headers of a message on its way. Made when the configuration is
 * loaded wherever possible: equal edits are one object, and the wire keeps what it rendered of it.
 */
export class HeaderEdit {
  /** Names in lower case that are not copied: removed ones, and those that are set anew. */
  readonly removed: readonly string[]
  readonly added: readonly Header[]
  /** The wire's own rendering, made once. */
  rendered: unknown = undefined
  /** The last sum: edits of a route meet in the same order every time. */
  #later: HeaderEdit | undefined = undefined
  #sum: HeaderEdit | undefined = undefined

  constructor(removed: readonly string[], added: readonly Header[]) {
    this.removed = removed
    this.added = added
  }

  /** This edit and then another: what the later one removes or sets wins. */
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
