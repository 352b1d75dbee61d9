/** A session that ended before its cookies did, or all of a subject or of the provider's session. */
export interface Revocation {
  readonly id?: string | undefined
  readonly sid?: string | undefined
  readonly sub?: string | undefined
  /** Only sessions of tokens that were issued until then, in seconds since 1970. */
  readonly before?: number
}

export interface SessionIdentity {
  readonly id: string
  readonly sid: string | undefined
  readonly sub: string | undefined
  /** Seconds since 1970. */
  readonly issued: number | undefined
}

/** Which sessions are over though their cookies still open. */
export interface RevokedSessions {
  /** `until`: seconds since 1970; it need not be remembered longer. */
  add(revocation: Revocation, until: number): Promise<void>
  has(session: SessionIdentity): Promise<boolean>
}

/** Revocations in all: what is over by itself goes first, then the oldest. */
const MAX = 100_000

/** For one process. */
export function revokedInMemory(): RevokedSessions {
  const known = new Map<string, { readonly before: number; readonly until: number }>()
  return {
    async add(revocation, until) {
      const { before = Number.MAX_SAFE_INTEGER } = revocation
      for (const key of keysOf(revocation)) {
        known.delete(key)
        known.set(key, { before, until })
      }
      if (known.size <= MAX) return
      const now = Date.now() / 1_000
      for (const [key, one] of known) if (one.until < now) known.delete(key)
      for (const key of known.keys()) {
        if (known.size <= MAX) break
        known.delete(key)
      }
    },
    async has(session) {
      const { issued = 0 } = session
      return keysOf(session).some((key) => {
        const found = known.get(key)
        return found !== undefined && issued <= found.before
      })
    },
  }
}

export function keysOf({ id, sid, sub }: Revocation): readonly string[] {
  return [
    ...(id === undefined ? [] : [`id:${id}`]),
    ...(sid === undefined ? [] : [`sid:${sid}`]),
    ...(sub === undefined ? [] : [`sub:${sub}`]),
  ]
}
