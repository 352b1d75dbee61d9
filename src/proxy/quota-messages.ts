import type { QuotaRequest } from '../exchange/quota.ts'

/** From a worker to the owner of the quotas: everything from one turn of its event loop. */
export interface QuotaReport {
  readonly kind: 'quota'
  readonly asks: readonly QuotaAsk[]
  readonly returns: readonly QuotaReturn[]
  /** Amounts used in addition to those requested. */
  readonly charges?: readonly QuotaCharge[]
  /** Recalls that these returns respond to. */
  readonly recalled: readonly number[]
}

export interface QuotaAsk {
  readonly id: number
  readonly asked: readonly QuotaRequest[]
}

export interface QuotaCharge {
  readonly quota: string
  readonly key: string
  /** Negative: tokens are given back. */
  readonly amount: number
}

/** Tokens that were lent, used or not, since the last report. */
export interface QuotaReturn {
  readonly quota: string
  readonly key: string
  readonly epoch: number
  readonly used: number
  readonly unused: number
}

/** From the owner to a worker. */
export type QuotaOrder =
  | { readonly kind: 'quota-granted'; readonly id: number; readonly granted: readonly Grant[] }
  | {
      readonly kind: 'quota-rejected'
      readonly id: number
      readonly asked: number
      /** Milliseconds until it is refilled. */
      readonly wait: number
      /** On the clock shared by all processes of a machine; before, no tokens are available. */
      readonly until: number
      /** The process that knows could not be queried. */
      readonly isAway?: boolean
    }
  | {
      readonly kind: 'quota-recall'
      readonly recall: number
      readonly quota: string
      readonly key: string
    }

/** The token that was requested, and some in advance. */
export interface Grant {
  readonly tokens: number
  readonly epoch: number
  /** From then on none of them may be used. */
  readonly expires: number
}

/** Milliseconds on a monotonic clock that is the same in all processes of the machine. */
export function machineTime(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1_000_000
}
