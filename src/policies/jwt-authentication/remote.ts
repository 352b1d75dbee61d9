import type { Fetched, FetchKeys } from './fetch-keys.ts'
import { type KeySource, parseKeys, type VerificationKeys } from './keys.ts'

export interface RemoteClock {
  /** Monotonic milliseconds. */
  now(): number
  /** From 0 to less than 1. */
  random(): number
  /** Runs it later, and keeps no process alive for it; returns how to take it back. */
  after(milliseconds: number, run: () => void): () => void
}

export interface RemoteOptions {
  readonly url: string
  /** Milliseconds that keys are fresh, if the issuer does not say less. */
  readonly cacheDuration: number
  /** Milliseconds between two fetches for unknown kids. */
  readonly refetchInterval?: number
  /** Milliseconds that a request waits for keys. */
  readonly longestWait?: number
  readonly fetch: FetchKeys
  readonly clock: RemoteClock
  readonly observe?: (refresh: Refresh) => void
}

/** The words of `portcullis_jwks_refreshes_total`. */
export interface Refresh {
  readonly outcome: 'changed' | 'unchanged' | 'refused' | 'failed' | 'timeout'
  readonly trigger: 'start' | 'interval' | 'unknown-key'
  readonly detail: string
}

export interface RemoteStatus {
  /** Milliseconds since keys were last fetched; undefined: never. */
  readonly age: number | undefined
  readonly last: Refresh | undefined
  /** Fetches in a row that brought no keys. */
  readonly failures: number
  readonly kids: readonly string[]
}

const REFETCH_INTERVAL = 30_000
const LONGEST_WAIT = 3000
/** However little the configuration says: an issuer is no target. */
const SHORTEST_CACHE = 1000
/** However little an issuer says that its keys are good for. */
const SHORTEST_FRESHNESS = 30_000
const FIRST_RETRY = 1000
const LONGEST_RETRY = 60_000

/**
 * The keys that an issuer publishes: fetched at once and then again before they are old, one
 * request at a time. While the issuer is down the last ones stay good. It ends when nobody holds
 * it any more, as its timer does not.
 */
export class RemoteKeys implements KeySource {
  current: VerificationKeys | undefined = undefined
  readonly #options: RemoteOptions
  #text = ''
  /** What requests wait for. */
  #flight: Promise<void> | undefined = undefined
  #fetchedAt: number | undefined = undefined
  #askedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #last: Refresh | undefined = undefined
  #cancel = () => {}
  #isClosed = false

  constructor(options: RemoteOptions) {
    this.#options = options
    this.#refresh('start')
  }

  /** For a kid that is not among the keys. Whoever comes while keys are fetched waits for them. */
  refetch(): Promise<void> | undefined {
    if (this.#flight !== undefined) return this.#flight
    const { clock, refetchInterval = REFETCH_INTERVAL } = this.#options
    const now = clock.now()
    if (this.#isClosed || now - this.#askedAt < refetchInterval) return undefined
    this.#askedAt = now
    return this.#refresh('unknown-key')
  }

  status(): RemoteStatus {
    const at = this.#fetchedAt
    return {
      age: at === undefined ? undefined : this.#options.clock.now() - at,
      last: this.#last,
      failures: this.#failures,
      kids: [...(this.current?.byKid.keys() ?? [])],
    }
  }

  close(): void {
    this.#isClosed = true
    this.#cancel()
  }

  #refresh(trigger: Refresh['trigger']): Promise<void> {
    if (this.#flight !== undefined) return this.#flight
    this.#cancel()
    const { clock, longestWait = LONGEST_WAIT } = this.#options
    const waiting = Promise.withResolvers<void>()
    const stopWaiting = clock.after(longestWait, waiting.resolve)
    this.#flight = waiting.promise
    this.#fetch(trigger).then((delay) => {
      this.#flight = undefined
      stopWaiting()
      waiting.resolve()
      if (!this.#isClosed) this.#cancel = refreshLater(this, clock, delay)
    })
    return waiting.promise
  }

  /** Returns when to fetch again. */
  async #fetch(trigger: Refresh['trigger']): Promise<number> {
    const { url, fetch, clock, observe } = this.#options
    const cacheDuration = Math.max(SHORTEST_CACHE, this.#options.cacheDuration)
    const fetched = await fetch(url).catch(
      (error: unknown): Fetched => ({ kind: 'failed', detail: String(error) }),
    )
    const keys = fetched.kind === 'text' ? parseKeys(fetched.text) : undefined
    if (fetched.kind !== 'text' || keys === undefined) {
      const [outcome, detail] =
        fetched.kind === 'text'
          ? (['refused', 'not a JSON Web Key Set'] as const)
          : [fetched.kind, fetched.detail]
      this.#last = { outcome, trigger, detail }
      observe?.(this.#last)
      const wait = Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** this.#failures)
      this.#failures++
      return jitter(Math.min(wait, cacheDuration), clock)
    }
    const isNew = this.current === undefined || fetched.text !== this.#text
    // The same text keeps the same keys, and with them the tokens that were verified by them.
    if (isNew) {
      this.current = keys
      this.#text = fetched.text
    }
    this.#failures = 0
    this.#fetchedAt = clock.now()
    const detail = keys.faults.map(({ kid, problem }) => `key ${kid}: ${problem}`).join('; ')
    this.#last = { outcome: isNew ? 'changed' : 'unchanged', trigger, detail }
    observe?.(this.#last)
    // What the operator says holds; what an issuer says, above the shortest.
    const { maxAge = cacheDuration } = fetched
    return jitter(Math.min(cacheDuration, Math.max(SHORTEST_FRESHNESS, maxAge)), clock)
  }

  /** For the timer. */
  static refreshNow(keys: RemoteKeys): void {
    keys.#refresh('interval')
  }
}

/** A timer that holds its keys weakly: those of a configuration that is gone stop by themselves. */
function refreshLater(keys: RemoteKeys, clock: RemoteClock, delay: number): () => void {
  const held = new WeakRef(keys)
  return clock.after(delay, () => {
    const alive = held.deref()
    if (alive !== undefined) RemoteKeys.refreshNow(alive)
  })
}

/** Between four fifths and the whole, so that gateways do not come all at once. */
function jitter(milliseconds: number, clock: RemoteClock): number {
  return milliseconds * (0.8 + 0.2 * clock.random())
}

export const SYSTEM_CLOCK: RemoteClock = {
  now: () => performance.now(),
  random: Math.random,
  after(milliseconds, run) {
    // A longer time than timers can count would be over at once.
    const timer = setTimeout(run, Math.min(milliseconds, 2 ** 31 - 1)).unref()
    return () => clearTimeout(timer)
  },
}
