import type { EndedSessions } from '../exchange/ended-sessions.ts'
import { MCP_KEY, type Revoked, RevokedKeys } from './revoked-keys.ts'
import type { SignInOrder, SignInReport } from './sign-in-messages.ts'

/** The state of sign-ins, shared by processes that serve the same sessions. */
export interface SharedSignIn {
  /** Resolves when every process knows about it. */
  revoke(revoked: Revoked): Promise<void>
  isRevoked(keys: readonly string[], issued: number): boolean
  /** The outcome of work that one process does for all; fails if that process failed. */
  once<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** Seconds that an ended MCP session is remembered: no client continues it later. */
const REMEMBERED = 30 * 86_400

/** MCP sessions that clients ended, shared in the same way. */
export function endedSessions(shared: SharedSignIn): EndedSessions {
  return {
    end: (sessions) => {
      const keys = sessions.map((key) => `${MCP_KEY}${key}`)
      const before = Math.ceil(Date.now() / 1_000)
      return shared.revoke({ keys, before, until: before + REMEMBERED })
    },
    has: (key) => shared.isRevoked([`${MCP_KEY}${key}`], 0),
  }
}

/** For a process that serves alone; `share` notifies other replicas. */
export function ownSignIn(share: () => ((revoked: Revoked) => Promise<void>) | undefined) {
  const known = new RevokedKeys()
  const shared: SharedSignIn = {
    revoke: async (revoked) => {
      known.add(revoked)
      await share()?.(revoked)
    },
    isRevoked: (keys, issued) => known.has(keys, issued),
    once: (_, work) => work(),
  }
  return {
    shared,
    learn: (revoked: readonly Revoked[]) => {
      for (const one of revoked) known.add(one)
    },
  }
}

/** A worker's part; its parent has the whole. */
export class WorkerSignIn implements SharedSignIn {
  readonly #send: (report: SignInReport) => void
  readonly #known = new RevokedKeys()
  readonly #waiting = new Map<number, (order: SignInOrder) => void>()
  #ids = 0

  constructor(send: (report: SignInReport) => void) {
    this.#send = send
  }

  isRevoked(keys: readonly string[], issued: number): boolean {
    return this.#known.has(keys, issued)
  }

  async revoke(revoked: Revoked): Promise<void> {
    this.#known.add(revoked)
    await this.#ask((id) => ({ kind: 'sign-in', does: 'revoke', id, revoked }))
  }

  async once<T>(key: string, work: () => Promise<T>): Promise<T> {
    const order = await this.#ask((id) => ({ kind: 'sign-in', does: 'claim', id, key }))
    if (order.kind !== 'sign-in-claimed') throw new Error('unexpected order')
    if (!order.isOwn) {
      if (order.value === undefined) throw new Error('the operation failed in another worker')
      return order.value as T
    }
    let value: T | undefined
    try {
      value = await work()
      return value
    } finally {
      this.#send({ kind: 'sign-in', does: 'settle', key, value })
    }
  }

  /** `acknowledge` reports that this worker has applied it. */
  receive(order: SignInOrder, acknowledge: (id: number) => void): void {
    if (order.kind !== 'sign-in-revoked') {
      this.#waiting.get(order.id)?.(order)
      return
    }
    for (const one of order.revoked) this.#known.add(one)
    if (order.id !== undefined) acknowledge(order.id)
  }

  #ask(report: (id: number) => SignInReport): Promise<SignInOrder> {
    const id = ++this.#ids
    return new Promise((resolve) => {
      this.#waiting.set(id, (order) => {
        this.#waiting.delete(id)
        resolve(order)
      })
      this.#send(report(id))
    })
  }
}
