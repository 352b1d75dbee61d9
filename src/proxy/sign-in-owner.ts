import type { Revoked } from './revoked-keys.ts'
import { RevokedKeys } from './revoked-keys.ts'
import type { SignInOrder, SignInReport } from './sign-in-messages.ts'

/** Milliseconds for which what was done once is known: requests with the old cookies are on their way. */
const REMEMBERED = 30_000

interface Claim {
  readonly worker: number
  readonly waiting: { readonly worker: number; readonly id: number }[]
  settled: { readonly value: unknown } | undefined
}

export interface SignInOwnerOptions {
  /** To one worker; false where it is gone. */
  readonly send: (worker: number, order: SignInOrder) => boolean
  /** To all of them; resolves when each has it, or did not say so in time. */
  readonly sendAll: (revoked: readonly Revoked[]) => Promise<void>
}

/** Where revocations are known to other replicas, too. */
export type ShareRevoked = (revoked: Revoked) => Promise<void>

/** What workers know together of people who sign in: one process has it, and tells the others. */
export class SignInOwner {
  readonly #options: SignInOwnerOptions
  readonly #revoked = new RevokedKeys()
  readonly #claims = new Map<string, Claim>()
  share: ShareRevoked | undefined

  constructor(options: SignInOwnerOptions) {
    this.#options = options
  }

  /** All that a worker has to know when it begins. */
  revoked(): readonly Revoked[] {
    return this.#revoked.all()
  }

  /** Heard of from another replica. */
  async learn(revoked: readonly Revoked[]): Promise<void> {
    for (const one of revoked) this.#revoked.add(one)
    if (revoked.length > 0) await this.#options.sendAll(revoked)
  }

  report(worker: number, report: SignInReport): void {
    if (report.does === 'revoke') void this.#revoke(worker, report.id, report.revoked)
    else if (report.does === 'claim') this.#claim(worker, report.id, report.key)
    else this.#settle(report.key, report.value)
  }

  /** What it was to do, nobody does any more. */
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
