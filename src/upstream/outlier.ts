import type { Attempt } from './cluster.ts'

/** The value of the `outlierDetection` policy, except for its expression. */
export interface Eviction {
  /** Milliseconds of the first ejection; each further one lasts longer. */
  readonly duration: number
  readonly consecutiveFailures: number
  /** The share of successes below which an endpoint is ejected, too. */
  readonly healthThreshold?: number | undefined
  /** The health that a restored endpoint starts with. */
  readonly restoreHealth: number
  /** Max share of endpoints that may be ejected at once. */
  readonly maxEvicted: number
}

export type EjectionReason = 'status' | 'connect' | 'reset' | 'timeout'

export interface OutlierEvents {
  ejected(at: number, reason: EjectionReason): void
  restored(at: number): void
}

export interface OutlierOptions {
  readonly now?: () => number
}

const MAX_LENGTH = 300_000
/** The weight of one response in the health of an endpoint: about the last twenty count. */
const SHARE = 0.05

class Record {
  failures = 0
  health = 1
  /** Number of ejections; decays while the endpoint is healthy. */
  times = 0
  restoredAt = Number.NEGATIVE_INFINITY
  timer: NodeJS.Timeout | undefined = undefined
}

/** Observes the results of real requests, and ejects failing endpoints for some time. */
export class Outliers {
  readonly #eviction: Eviction
  readonly #events: OutlierEvents
  readonly #records: readonly Record[]
  readonly #now: () => number
  #ejected = 0

  constructor(
    count: number,
    eviction: Eviction,
    events: OutlierEvents,
    options: OutlierOptions = {},
  ) {
    this.#eviction = eviction
    this.#events = events
    this.#records = Array.from({ length: count }, () => new Record())
    this.#now = options.now ?? (() => performance.now())
  }

  get ejected(): number {
    return this.#ejected
  }

  /** `isFailure` is the result of the expression; by default, the attempt itself decides. */
  observe(at: number, attempt: Attempt, isFailure = failed(attempt)): void {
    const record = this.#records[at]
    // A client that went away says nothing about the endpoint.
    if (record === undefined || attempt.outcome === 'cancelled') return
    record.health += SHARE * ((isFailure ? 0 : 1) - record.health)
    record.failures = isFailure ? record.failures + 1 : 0
    if (!isFailure || record.timer !== undefined) return
    const { consecutiveFailures, healthThreshold = 0 } = this.#eviction
    if (record.failures >= consecutiveFailures || record.health < healthThreshold) {
      this.#eject(at, record, reasonOf(attempt))
    }
  }

  close(): void {
    for (const record of this.#records) clearTimeout(record.timer)
  }

  #eject(at: number, record: Record, reason: EjectionReason): void {
    const { duration, maxEvicted } = this.#eviction
    if (this.#ejected + 1 > this.#records.length * maxEvicted) return
    const quiet = Math.floor((this.#now() - record.restoredAt) / Math.max(1, duration))
    record.times = Math.max(0, record.times - quiet) + 1
    const wait = Math.min(duration * record.times, Math.max(MAX_LENGTH, duration))
    this.#ejected++
    record.timer = setTimeout(() => this.#restore(at, record), wait).unref()
    this.#events.ejected(at, reason)
  }

  #restore(at: number, record: Record): void {
    this.#ejected--
    record.timer = undefined
    record.failures = 0
    record.health = this.#eviction.restoreHealth
    record.restoredAt = this.#now()
    this.#events.restored(at)
  }
}

function failed({ outcome, status }: Attempt): boolean {
  return outcome !== 'responded' || status >= 500
}

function reasonOf({ outcome }: Attempt): EjectionReason {
  return REASONS[outcome]
}

const REASONS: Readonly<{ [K in Attempt['outcome']]: EjectionReason }> = {
  responded: 'status',
  cancelled: 'status',
  'connect-failed': 'connect',
  reset: 'reset',
  timeout: 'timeout',
}
