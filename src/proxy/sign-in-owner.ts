import type { Revoked } from './revoked-keys.ts'
import { RevokedKeys } from './revoked-keys.ts'
import type { SignInOrder, SignInReport } from './sign-in-messages.ts'

/** Milliseconds to remember an outcome: requests with the old cookies are in transit. */
const REMEMBERED = 30_000

interface Claim {
  readonly worker: number
  readonly waiting: { readonly worker: number; readonly id: number }[]
  settled: { readonly value: unknown } | undefined
}

export interface SignInOwnerOptions {
  /** Sends to one worker; returns false if it is gone. */
  readonly send: (worker: number, order: SignInOrder) => boolean
  /** Sends to all workers; resolves when each has acknowledged it, or the time is over. */
  readonly sendAll: (revoked: readonly Revoked[]) => Promise<void>
}

/** Shares revocations with other replicas. */
export type ShareRevoked = (revoked: Revoked) => Promise<void>

/** The state of sign-ins that workers share: one process owns it, and notifies the others. */
export class SignInOwner {
  readonly #options: SignInOwnerOptions
  readonly #revoked = new RevokedKeys()
  readonly #claims = new Map<string, Claim>()
  share: ShareRevoked | undefined

  constructor(options: SignInOwnerOptions) {
    this.#options = options
  }

  /** Everything that a worker must know when it starts. */
  revoked(): readonly Revoked[] {
    return this.#revoked.all()
  }

  /** Adds revocations from another replica. */
  async learn(revoked: readonly Revoked[]): Promise<void> {
    for (const one of revoked) this.#revoked.add(one)
    if (revoked.length > 0) await this.#options.sendAll(revoked)
  }

  report(worker: number, report: SignInReport): void {
    if (report.does === 'revoke') void this.#revoke(worker, report.id, report.revoked)
    else if (report.does === 'claim') this.#claim(worker, report.id, report.key)
    else this.#settle(report.key, report.value)
  }

  /** No worker continues what this one had claimed. */
  ended(worker: number): void {
    for (const [key, claim] of this.#claims) {
      if (claim.worker === worker && claim.settled === undefined) this.#settle(key, undefined)
    }
  }

  async #revoke(worker: number, id: number, revoked: Revoked): Promise<void> {
    this.#revoked.add(revoked)
    await Promise.all([this.#options.sendAll([revoked]), this.share?.(revoked)])
    this.#options.send(worker, { kind: 'sign-in-revoked-by-all', id })
  }

  #claim(worker: number, id: number, key: string): void {
    const { send } = this.#options
    const known = this.#claims.get(key)
    if (known === undefined) {
      this.#claims.set(key, { worker, waiting: [], settled: undefined })
      send(worker, { kind: 'sign-in-claimed', id, isOwn: true, value: undefined })
    } else if (known.settled === undefined) known.waiting.push({ worker, id })
    else send(worker, { kind: 'sign-in-claimed', id, isOwn: false, value: known.settled.value })
  }

  #settle(key: string, value: unknown): void {
    const claim = this.#claims.get(key)
    if (claim === undefined || claim.settled !== undefined) return
    claim.settled = { value }
    for (const { worker, id } of claim.waiting) {
      this.#options.send(worker, { kind: 'sign-in-claimed', id, isOwn: false, value })
    }
    setTimeout(() => this.#claims.delete(key), REMEMBERED).unref()
  }
}
