/** A node of a list. It can be removed from any position at the same small cost. */
export class Link<T> {
  readonly value: T
  before: Link<T> | undefined = undefined
  after: Link<T> | undefined = undefined
  isIn = false

  constructor(value: T) {
    this.value = value
  }
}

/** Both a stack and a queue, whose members can be removed from the middle. */
export class LinkedList<T> {
  #first: Link<T> | undefined = undefined
  #last: Link<T> | undefined = undefined
  size = 0

  get first(): T | undefined {
    return this.#first?.value
  }

  push(link: Link<T>): void {
    if (link.isIn) return
    link.isIn = true
    link.before = this.#last
    if (this.#last === undefined) this.#first = link
    else this.#last.after = link
    this.#last = link
    this.size++
  }

  pop(): T | undefined {
    const link = this.#last
    if (link === undefined) return undefined
    this.remove(link)
    return link.value
  }

  shift(): T | undefined {
    const link = this.#first
    if (link === undefined) return undefined
    this.remove(link)
    return link.value
  }

  remove(link: Link<T>): boolean {
    if (!link.isIn) return false
    if (link.before === undefined) this.#first = link.after
    else link.before.after = link.after
    if (link.after === undefined) this.#last = link.before
    else link.after.before = link.before
    link.before = undefined
    link.after = undefined
    link.isIn = false
    this.size--
    return true
  }
}
