import type { Logger } from '../telemetry/log.ts'
import type { ResetReason } from '../wire/http2/limits.ts'

/** Milliseconds between two records of the same sort. */
const PERIOD = 1_000

/**
 * Says in the log which streams the gateway reset, and which connections it ended, as floods or
 * because of an error: the
 * first at once, then one record a second of each sort at most, which says how many there were since
 * the one before.
 */
export class ResetLog {
  readonly #log: Logger
  readonly #now: () => number
  readonly #known = new Map<string, { at: number; count: number }>()

  constructor(log: Logger, now: () => number = () => performance.now()) {
    this.#log = log
    this.#now = now
  }

  note(listener: string, reason: ResetReason): void {
    // The response went out whole, and the log of requests has it.
    if (reason !== 'complete') this.#note({ listener, error: 'stream-reset', reason })
  }

  /** A connection ended because of what its client did too much of; `address` is the last one's. */
  flooded(listener: string, kind: string, address: string | undefined): void {
    this.#note({ listener, error: 'flood', kind }, { 'src.addr': address })
  }

  /** The same because of what HTTP/2 does not allow. */
  failed(listener: string, code: string, address: string | undefined): void {
    this.#note({ listener, error: 'connection-error', code }, { 'src.addr': address })
  }

  #note(record: Readonly<Record<string, string>>, more: object = {}): void {
    const key = Object.values(record).join(' ')
    const known = this.#known.get(key) ?? { at: Number.NEGATIVE_INFINITY, count: 0 }
    this.#known.set(key, known)
    known.count++
    const now = this.#now()
    if (now - known.at < PERIOD) return
    this.#log.warn('http2', { ...record, ...more, count: known.count })
    known.at = now
    known.count = 0
  }
}
