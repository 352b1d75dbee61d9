/** A session that ended before its cookies, or all sessions of a subject or provider session. */
export interface Revocation {
  readonly id?: string | undefined
  readonly sid?: string | undefined
  readonly sub?: string | undefined
  /** Only sessions whose tokens were issued until then, in seconds since 1970. */
  readonly before?: number
}

export interface SessionIdentity {
  readonly id: string
  readonly sid: string | undefined
  readonly sub: string | undefined
  /** In seconds since 1970. */
  readonly issued: number | undefined
}

/** The sessions that have ended although their cookies still open. */
export interface RevokedSessions {
  /** `until`: in seconds since 1970. The entry is not needed after that. */
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
