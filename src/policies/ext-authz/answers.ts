import type { Verdict } from './verdict.ts'

/** Answers by what they depend on, for a while. The longest unused is forgotten first. */
export class Answers {
  readonly #ttl: number
  readonly #most: number
  readonly #known = new Map<string, { readonly verdict: Verdict; readonly until: number }>()

  constructor(ttl: number, most: number) {
    this.#ttl = ttl
    this.#most = most
  }

  get(key: string, now: number): Verdict | undefined {
    const known = this.#known.get(key)
    if (known === undefined) return undefined
    this.#known.delete(key)
    if (known.until <= now) return undefined
    this.#known.set(key, known)
    return known.verdict
  }

  /** A failure is no answer: the next one asks again. */
  set(key: string, verdict: Verdict, now: number): void {
    if (verdict.kind === 'failed') return
    this.#known.set(key, { verdict, until: now + this.#ttl })
    if (this.#known.size <= this.#most) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      return
    }
  }
}
