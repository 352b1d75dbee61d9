/** Sessions that ended although their cookies can still be opened, identified by their keys. */
export interface Revoked {
  readonly keys: readonly string[]
  /** Only sessions whose tokens were issued until then, in seconds since 1970. */
  readonly before: number
  /** Seconds since 1970; it can be forgotten afterwards. */
  readonly until: number
}

/** Max number of keys: expired ones are removed first, then the oldest. */
const MAX = 100_000

export class RevokedKeys {
  readonly #known = new Map<string, { readonly before: number; readonly until: number }>()

  add({ keys, before, until }: Revoked): void {
    const known = this.#known
    for (const key of keys) {
      const older = known.get(key)
      known.delete(key)
      known.set(key, {
        before: Math.max(before, older?.before ?? 0),
        until: Math.max(until, older?.until ?? 0),
      })
    }
    if (known.size <= MAX) return
    const now = Date.now() / 1_000
    for (const [key, one] of known) if (one.until < now) known.delete(key)
    for (const key of known.keys()) {
      if (known.size <= MAX) break
      known.delete(key)
    }
  }

  /** `issued`: seconds since 1970. */
  has(keys: readonly string[], issued: number): boolean {
    return keys.some((key) => {
      const found = this.#known.get(key)
      return found !== undefined && issued <= found.before
    })
  }

  /** All known revocations, for a process that starts later. */
  all(): readonly Revoked[] {
    return [...this.#known].map(([key, one]) => ({ keys: [key], ...one }))
  }
}
