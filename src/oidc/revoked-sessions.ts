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

export function keysOf({ id, sid, sub }: Revocation): readonly string[] {
  return [
    ...(id === undefined ? [] : [`id:${id}`]),
    ...(sid === undefined ? [] : [`sid:${sid}`]),
    ...(sub === undefined ? [] : [`sub:${sub}`]),
  ]
}
