import type { QuotaAsked } from '../exchange/quota.ts'

/** From a worker to the process that owns the quotas; all of one turn of its event loop. */
export interface QuotaReport {
  readonly kind: 'quota'
  readonly asks: readonly QuotaAsk[]
  readonly returns: readonly QuotaReturn[]
  /** What turned out to be used beside what was asked for. */
  readonly charges?: readonly QuotaCharge[]
  /** Recalls that these returns belong to. */
  readonly recalled: readonly number[]
}

export interface QuotaAsk {
  readonly id: number
  readonly asked: readonly QuotaAsked[]
}

export interface QuotaCharge {
  readonly quota: string
  readonly key: string
  /** Negative: they come back. */
  readonly amount: number
}

/** What became of tokens that were lent since the last time. */
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
      /** Milliseconds until it is filled again. */
      readonly wait: number
      /** On the clock that all processes of a machine share; before that nothing can be had. */
      readonly until: number
      /** Whoever knows could not be asked. */
      readonly isAway?: boolean
    }
  | {
      readonly kind: 'quota-recall'
      readonly recall: number
      readonly quota: string
      readonly key: string
    }

/** The token that was asked for, and some to go on with. */
export interface Grant {
  readonly tokens: number
  readonly epoch: number
  /** From then on none of them may be used. */
  readonly expires: number
}

/** Milliseconds on a clock that is the same in all processes of the machine, and is never set. */
export function machineTime(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1_000_000
}
