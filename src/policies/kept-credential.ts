/* Credentials that are fetched, and kept until they are about to end. */

/** Why there is none, for the log. */
export interface NoCredential {
  readonly detail: string
}

export interface Fetched<T> {
  readonly value: T | NoCredential
  /** Milliseconds that it is good for. */
  readonly life: number
}

interface Kept<T> {
  readonly pending: Promise<T | NoCredential>
  readonly settled: T | NoCredential | undefined
  /** By the monotonic clock. */
  readonly until: number
}

/** Milliseconds before its end that a credential is replaced. */
const MARGIN = 300_000
/** After a failure, so long nobody asks again: requests must not become a flood of their own. */
const PAUSE = 1_000

export class KeptCredentials<T extends string | object> {
  readonly #kept = new Map<string, Kept<T>>()

  /** What is fetched at the moment is waited for by all. */
  find(
    key: string,
    now: () => number,
    fetch: () => Promise<Fetched<T>>,
  ): T | NoCredential | Promise<T | NoCredential> {
    const known = this.#kept.get(key)
    if (known !== undefined && known.settled === undefined) return known.pending
    if (known?.settled !== undefined && known.until > now()) return known.settled
    const pending = fetch().then(({ value, life }) => {
      const left = isNone(value) ? PAUSE : life - Math.min(MARGIN, life / 2)
      this.#kept.set(key, { pending, settled: value, until: now() + left })
      return value
    })
    this.#kept.set(key, { pending, settled: undefined, until: 0 })
    return pending
  }
}

export function isNone(value: string | object): value is NoCredential {
  return typeof value === 'object' && 'detail' in value
}
