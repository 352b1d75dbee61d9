import { hash } from 'node:crypto'
import type { Verified } from './verify.ts'

export interface CacheLimits {
  readonly entries: number
  /** Of the claims, as far as they can be told. */
  readonly bytes: number
}

const LIMITS: CacheLimits = { entries: 50_000, bytes: 64 * 1024 * 1024 }

/** What is remembered of a token: nothing that would be worth stealing. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'hex')
}

/**
 * Verified tokens by digest, until they expire or the keys change. The longest unused is forgotten
 * first.
 */
export class TokenCache {
  hits = 0
  misses = 0
  bytes = 0
  readonly #limits: CacheLimits
  readonly #tokens = new Map<string, Verified>()

  constructor(limits: CacheLimits = LIMITS) {
    this.#limits = limits
  }

  get size(): number {
    return this.#tokens.size
  }

  get(digest: string, now: number): Verified | undefined {
    const tokens = this.#tokens
    const known = tokens.get(digest)
    if (known === undefined || now >= known.until || known.source.current !== known.keys) {
      if (known !== undefined) this.#forget(digest, known)
      this.misses++
      return undefined
    }
    this.hits++
    // A Map keeps the order of insertion: what is put in again goes to its end.
    tokens.delete(digest)
    tokens.set(digest, known)
    return known
  }

  set(digest: string, verified: Verified): void {
    const before = this.#tokens.get(digest)
    if (before !== undefined) this.#forget(digest, before)
    if (weightOf(verified) > this.#limits.bytes) return
    this.#tokens.set(digest, verified)
    this.bytes += weightOf(verified)
    for (const [oldest, token] of this.#tokens) {
      if (this.size <= this.#limits.entries && this.bytes <= this.#limits.bytes) return
      this.#forget(oldest, token)
    }
  }

  #forget(digest: string, verified: Verified): void {
    this.#tokens.delete(digest)
    this.bytes -= weightOf(verified)
  }
}

/** Digest, entry and objects; a parsed claim takes a few times its text. */
function weightOf({ size }: Verified): number {
  return 512 + 4 * size
}
