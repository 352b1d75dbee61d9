/* Fetched credentials, kept until shortly before they expire. */

/** Why there is none, for the log. */
export interface NoCredential {
  readonly detail: string
}

export interface Fetched<T> {
  readonly value: T | NoCredential
  /** Lifetime in milliseconds. */
  readonly life: number
}

interface Kept<T> {
  readonly pending: Promise<T | NoCredential>
  readonly settled: T | NoCredential | undefined
  /** According to the monotonic clock. */
  readonly until: number
}

/** Milliseconds before expiry when a credential is replaced. */
const MARGIN = 300_000
/** Milliseconds without another attempt after a failure, so that requests do not cause a flood. */
const PAUSE = 1_000

export class KeptCredentials<T extends string | object> {
  readonly #kept = new Map<string, Kept<T>>()

  /** Concurrent callers share one fetch. */
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
