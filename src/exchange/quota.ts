/**
 * A limit that applies to the whole gateway, however many processes serve it. A rate limit is
 * refilled; what is taken from a concurrency limit is returned.
 */
export interface QuotaLimit {
  readonly capacity: number
  /** Tokens added at the end of every `interval` milliseconds; 0: taken tokens are returned. */
  readonly refill: number
  readonly interval: number
  readonly maxKeys: number
}

export interface QuotaRequest {
  /** The same in every process that uses the same limit. */
  readonly quota: string
  readonly limit: QuotaLimit
  readonly key: string
  /**
   * How many to take, 1 by default. If set, exactly this many are taken and none are leased in
   * advance.
   */
  readonly amount?: number
}

/** Why nothing was taken: `asked` is the index of the rejected entry, `wait` is in milliseconds. */
export interface QuotaRejection {
  readonly asked: number
  readonly wait: number
  /** The owner did not respond in time, so whether there is capacity is unknown. */
  readonly isAway: boolean
}

/** Limits that processes share. */
export interface Quotas {
  /**
   * Takes from every limit or from none; undefined: taken. Synchronous unless the owner must be
   * queried.
   */
  take(
    asked: readonly QuotaRequest[],
  ): QuotaRejection | undefined | Promise<QuotaRejection | undefined>
  /** Returns one token to a limit without a refill. */
  give(quota: string, key: string): void
  /** Charges usage beyond what was taken from a limit; a negative amount returns some. */
  charge(quota: string, key: string, amount: number): void
  /** The number of keys of a limit that this process tracks. */
  keys(quota: string): number
}
