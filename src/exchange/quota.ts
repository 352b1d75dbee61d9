/**
 * What may be taken from a limit that holds for the whole gateway, however many processes serve it.
 * A rate limit is filled again; of a limit on how many there may be at once, all is given back.
 */
export interface QuotaLimit {
  readonly capacity: number
  /** Added at the end of every `interval` milliseconds; 0: what was taken is given back. */
  readonly refill: number
  readonly interval: number
  readonly maxKeys: number
}

export interface QuotaAsked {
  /** The same in every process that means the same limit. */
  readonly quota: string
  readonly limit: QuotaLimit
  readonly key: string
  /** How many; one by default. More than that are never lent in advance. */
  readonly amount?: number
}

/** Why nothing was taken: `asked` is the place in what was asked for, `wait` milliseconds. */
export interface QuotaRejection {
  readonly asked: number
  readonly wait: number
  /** Whoever knows did not say in time: neither that there is room nor that there is none. */
  readonly isAway: boolean
}

/** Limits that processes share. */
export interface Quotas {
  /** One from each, or nothing from any; undefined: taken. At once, unless the owner must be asked. */
  take(
    asked: readonly QuotaAsked[],
  ): QuotaRejection | undefined | Promise<QuotaRejection | undefined>
  /** One that was taken is free again, of a limit without a refill. */
  give(quota: string, key: string): void
  /** So many more were used of a limit than were taken of it, or fewer if it is negative. */
  charge(quota: string, key: string, amount: number): void
  /** How many keys of a limit this process knows of. */
  keys(quota: string): number
}
