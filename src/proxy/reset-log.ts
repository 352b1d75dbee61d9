import type { Logger } from '../telemetry/log.ts'
import type { ResetReason } from '../wire/http2/limits.ts'

/** Milliseconds between two records of the same kind. */
const PERIOD = 1_000

/**
 * Logs streams that the gateway reset, and connections that it ended because of a flood or an
 * error: the first one at once, then at most one record of each kind per second, with the number
 * since the previous one.
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
    // The response was sent completely, and is in the request log.
    if (reason !== 'complete') this.#note({ listener, error: 'stream-reset', reason })
  }

  /** A connection ended because its client exceeded a limit; `address` is that of the last one. */
  flooded(listener: string, kind: string, address: string | undefined): void {
    this.#note({ listener, error: 'flood', kind }, { 'src.addr': address })
  }

  /** The same for a violation of HTTP/2. */
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
