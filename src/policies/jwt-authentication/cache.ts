import { hash } from 'node:crypto'
import type { KeySource, VerificationKeys } from './keys.ts'
import type { Verified } from './verify.ts'

export interface CacheLimits {
  readonly entries: number
  /** Approximate size of the claims. */
  readonly bytes: number
}

const LIMITS: CacheLimits = { entries: 50_000, bytes: 64 * 1024 * 1024 }

/** The cache key of a token: worthless to an attacker. */
export function digestOf(token: string): string {
  return hash('sha256', token, 'base64url')
}

/**
 * Fields that every lookup reads are stored inline: following another reference costs a memory
 * access.
 */
interface Entry {
  readonly verified: Verified
  readonly until: number
  readonly keys: VerificationKeys
  readonly source: KeySource
  /** The value of `#places` when the entry last moved to the end. */
  place: number
}

/**
 * Verified tokens by digest, until they expire or the keys change. Evicts the least recently used;
 * the order is exact only for the older half.
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
      // A Map keeps insertion order: an entry that is set again moves to the end.
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

/** Digest, entry and objects; a parsed claim takes several times the memory of its text. */
function weightOf({ size }: Verified): number {
  return 512 + 4 * size
}
