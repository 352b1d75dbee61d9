/** A member of one `SlotSet` at most. */
export interface Slotted {
  /** Where the set has it; -1: nowhere. Only the set writes it. */
  slot: number
}

/**
 * A set whose members come and go all the time. A `Set` makes itself a new table after every few of
 * them, and each table that was left holds what was in it then: once one of them is in old space, all
 * that it leads to, closed connections, is copied by each collection until all of the heap is
 * collected. This one is an array, and each member knows its place in it.
 */
export class SlotSet<T extends Slotted> {
  readonly #members: T[] = []

  get size(): number {
    return this.#members.length
  }

  has(member: T): boolean {
    return member.slot >= 0 && this.#members[member.slot] === member
  }

  add(member: T): void {
    if (this.has(member)) return
    if (member.slot >= 0) throw new Error('a member of another set')
    member.slot = this.#members.length
    this.#members.push(member)
  }

  /** The last one moves to where it was. */
  delete(member: T): void {
    if (!this.has(member)) return
    const { slot } = member
    const last = this.#members.pop() as T
    if (last !== member) {
      this.#members[slot] = last
      last.slot = slot
    }
    member.slot = -1
  }

  /** A copy: members may come and go while it is looked through. */
  members(): T[] {
    return [...this.#members]
  }

  /** By its place; whoever goes from the last to the first may delete on the way. */
  at(slot: number): T | undefined {
    return this.#members[slot]
  }
}
