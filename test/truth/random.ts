/** Numbers from a seed: the same seed makes the same files and requests on any machine. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0
    for (let i = 0; i < 4; i++) this.next()
  }

  /** From 0 up to, but not including, 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }

  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  pick<T>(list: readonly T[]): T {
    return list[this.int(list.length)] as T
  }

  /** Up to `max` items, in their own order. */
  some<T>(list: readonly T[], max: number): T[] {
    const kept = new Set<number>()
    const wanted = Math.min(max, list.length)
    while (kept.size < wanted) kept.add(this.int(list.length))
    return list.filter((_, index) => kept.has(index))
  }
}
