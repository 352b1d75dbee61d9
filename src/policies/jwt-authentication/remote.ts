import type { Fetched, FetchKeys } from './fetch-keys.ts'
import { type KeySource, parseKeys, type VerificationKeys } from './keys.ts'

export interface RemoteClock {
  /** Monotonic time in milliseconds. */
  now(): number
  /** From 0 to less than 1. */
  random(): number
  /** Runs it later, without keeping the process alive; returns a function that cancels it. */
  after(milliseconds: number, run: () => void): () => void
}

export interface RemoteOptions {
  readonly url: string
  /** Milliseconds that keys are fresh, unless the issuer sends a shorter time. */
  readonly cacheDuration: number
  /** Min milliseconds between two fetches for unknown kids. */
  readonly refetchInterval?: number
  /** Max milliseconds that a request waits for keys. */
  readonly maxWait?: number
  readonly fetch: FetchKeys
  readonly clock: RemoteClock
  readonly observe?: (refresh: Refresh) => void
}

/** Label values of `portcullis_jwks_refreshes_total`. */
export interface Refresh {
  readonly outcome: 'changed' | 'unchanged' | 'refused' | 'failed' | 'timeout'
  readonly trigger: 'start' | 'interval' | 'unknown-key'
  readonly detail: string
}

export interface RemoteStatus {
  /** Milliseconds since keys were last fetched; undefined: never. */
  readonly age: number | undefined
  readonly last: Refresh | undefined
  /** Consecutive fetches without keys. */
  readonly failures: number
  readonly kids: readonly string[]
}

const REFETCH_INTERVAL = 30_000
const MAX_WAIT = 3000
/** The min, whatever the configuration says, so that the issuer is not flooded. */
const MIN_CACHE = 1000
/** The min, whatever lifetime the issuer sends. */
const MIN_FRESHNESS = 30_000
const FIRST_RETRY = 1000
const MAX_RETRY = 60_000

/**
 * The keys that an issuer publishes: fetched at once and refreshed before they expire, one request
 * at a time. While the issuer is unavailable, the last keys stay valid. Refreshing ends when the
 * object is garbage-collected, since its timer does not retain it.
 */
export class RemoteKeys implements KeySource {
  current: VerificationKeys | undefined = undefined
  readonly #options: RemoteOptions
  #text = ''
  /** The fetch that requests wait for. */
  #flight: Promise<void> | undefined = undefined
  #fetchedAt: number | undefined = undefined
  #requestedAt = Number.NEGATIVE_INFINITY
  #failures = 0
  #last: Refresh | undefined = undefined
  #cancel = () => {}
  #isClosed = false

  constructor(options: RemoteOptions) {
    this.#options = options
    this.#refresh('start')
  }

  /** Called for an unknown kid. Requests that arrive during a fetch wait for it. */
  refetch(): Promise<void> | undefined {
    if (this.#flight !== undefined) return this.#flight
    const { clock, refetchInterval = REFETCH_INTERVAL } = this.#options
    const now = clock.now()
    if (this.#isClosed || now - this.#requestedAt < refetchInterval) return undefined
    this.#requestedAt = now
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
    const { clock, maxWait = MAX_WAIT } = this.#options
    const waiting = Promise.withResolvers<void>()
    const stopWaiting = clock.after(maxWait, waiting.resolve)
    this.#flight = waiting.promise
    this.#fetch(trigger).then((delay) => {
      this.#flight = undefined
      stopWaiting()
      waiting.resolve()
      if (!this.#isClosed) this.#cancel = refreshLater(this, clock, delay)
    })
    return waiting.promise
  }

  /** Returns the delay until the next fetch. */
  async #fetch(trigger: Refresh['trigger']): Promise<number> {
    const { url, fetch, clock, observe } = this.#options
    const cacheDuration = Math.max(MIN_CACHE, this.#options.cacheDuration)
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
      const wait = Math.min(MAX_RETRY, FIRST_RETRY * 2 ** this.#failures)
      this.#failures++
      return jitter(Math.min(wait, cacheDuration), clock)
    }
    const isNew = this.current === undefined || fetched.text !== this.#text
    // If the text is unchanged, keeps the keys and thereby the tokens that they verified.
    if (isNew) {
      this.current = keys
      this.#text = fetched.text
    }
    this.#failures = 0
    this.#fetchedAt = clock.now()
    const detail = keys.faults.map(({ kid, problem }) => `key ${kid}: ${problem}`).join('; ')
    this.#last = { outcome: isNew ? 'changed' : 'unchanged', trigger, detail }
    observe?.(this.#last)
    // The operator's value is the max; an issuer's lifetime applies above the min.
    const { maxAge = cacheDuration } = fetched
    return jitter(Math.min(cacheDuration, Math.max(MIN_FRESHNESS, maxAge)), clock)
  }

  /** For the timer. */
  static refreshNow(keys: RemoteKeys): void {
    keys.#refresh('interval')
  }
}

/** The timer holds its keys weakly: those of a replaced configuration stop refreshing. */
function refreshLater(keys: RemoteKeys, clock: RemoteClock, delay: number): () => void {
  const held = new WeakRef(keys)
  return clock.after(delay, () => {
    const alive = held.deref()
    if (alive !== undefined) RemoteKeys.refreshNow(alive)
  })
}

/** Between 80% and 100%, so that gateways do not fetch at the same time. */
function jitter(milliseconds: number, clock: RemoteClock): number {
  return milliseconds * (0.8 + 0.2 * clock.random())
}

export const SYSTEM_CLOCK: RemoteClock = {
  now: () => performance.now(),
  random: Math.random,
  after(milliseconds, run) {
    // A delay beyond the range of timers would expire at once.
    const timer = setTimeout(run, Math.min(milliseconds, 2 ** 31 - 1)).unref()
    return () => clearTimeout(timer)
  },
}
