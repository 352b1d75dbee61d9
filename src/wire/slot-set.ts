/** A member of at most one `SlotSet`. */
export interface Slotted {
  /** Its index in the set; -1: in no set. Only the set writes it. */
  slot: number
}

/**
 * A set with frequent additions and deletions. A `Set` allocates a new table after every few of
 * them, and each old table holds its former members: once one of them is in old space, everything
 * reachable from it, including closed connections, is copied by each scavenge until a full
 * collection. This set is an array, and each member knows its index.
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

  /** The last member moves to the free slot. */
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

  /** A copy: members may be added or deleted during iteration. */
  members(): T[] {
    return [...this.#members]
  }

  /** By index; iteration from the last to the first may delete members. */
  at(slot: number): T | undefined {
    return this.#members[slot]
  }
}
