import { hash } from 'node:crypto'
import type { KeySource, VerificationKeys } from './keys.ts'
import type { Verified } from './verify.ts'

export interface CacheLimits {
  readonly entries: number
  /** Of the claims, as far as they can be told. */
  readonly bytes: number
}

const LIMITS: CacheLimits = { entries: 50_000, bytes: 64 * 1024 * 1024 }

/** What is remembered of a token: nothing that would be worth stealing. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** What every look-up reads stands here itself: a step to another object is a step to memory. */
interface Entry {
  readonly verified: Verified
  readonly until: number
  readonly keys: VerificationKeys
  readonly source: KeySource
  /** How many had been put to the end of the line before it was. */
  place: number
}

/**
 * Verified tokens by digest, until they expire or the keys change. The longest unused is forgotten
 * first; only the order among those of the younger half is not kept.
 */
export class TokenCache {
  hits = 0
  misses = 0
  bytes = 0
  readonly #limits: CacheLimits
  readonly #tokens = new Map<string, Entry>()
  #places = 0

  constructor(limits: CacheLimits = LIMITS) {
    this.#limits = limits
  }

  get size(): number {
    return this.#tokens.size
  }

  get(digest: string, now: number): Verified | undefined {
    const tokens = this.#tokens
    const entry = tokens.get(digest)
    if (entry === undefined) {
      this.misses++
      return undefined
    }
    if (now >= entry.until || entry.source.current !== entry.keys) {
      this.#forget(digest, entry)
      this.misses++
      return undefined
    }
    this.hits++
    if (this.#places - entry.place > tokens.size >> 1) {
      // A Map keeps the order of insertion: what is put in again goes to its end.
      tokens.delete(digest)
      tokens.set(digest, entry)
      entry.place = ++this.#places
    }
    return entry.verified
  }

  set(digest: string, verified: Verified): void {
    const before = this.#tokens.get(digest)
    if (before !== undefined) this.#forget(digest, before)
    const weight = weightOf(verified)
    if (weight > this.#limits.bytes) return
    const { until, keys, source } = verified
    this.#tokens.set(digest, { verified, until, keys, source, place: ++this.#places })
    this.bytes += weight
    for (const [oldest, entry] of this.#tokens) {
      if (this.size <= this.#limits.entries && this.bytes <= this.#limits.bytes) return
      this.#forget(oldest, entry)
    }
  }

  #forget(digest: string, { verified }: Entry): void {
    this.#tokens.delete(digest)
    this.bytes -= weightOf(verified)
  }
}

/** Digest, entry and objects; a parsed claim takes a few times its text. */
function weightOf({ size }: Verified): number {
  return 512 + 4 * size
}
