import type { Verdict } from './verdict.ts'

/** Verdicts by key, for a limited time. Evicts the least recently used. */
export class ResponseCache {
  readonly #ttl: number
  readonly #max: number
  readonly #known = new Map<string, { readonly verdict: Verdict; readonly until: number }>()

  constructor(ttl: number, max: number) {
    this.#ttl = ttl
    this.#max = max
  }

  get(key: string, now: number): Verdict | undefined {
    const known = this.#known.get(key)
    if (known === undefined) return undefined
    this.#known.delete(key)
    if (known.until <= now) return undefined
    this.#known.set(key, known)
    return known.verdict
  }

  /** Failures are not cached: the next request calls the service again. */
  set(key: string, verdict: Verdict, now: number): void {
    if (verdict.kind === 'failed') return
    this.#known.set(key, { verdict, until: now + this.#ttl })
    if (this.#known.size <= this.#max) return
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest)
      return
    }
  }
}
