/** Sessions that ended although their cookies can still be opened, identified by their keys. */
export interface Revoked {
  readonly keys: readonly string[]
  /** Only sessions whose tokens were issued until then, in seconds since 1970. */
  readonly before: number
  /** Seconds since 1970; it can be forgotten afterwards. */
  readonly until: number
}

/** Max number of keys of each kind: expired ones are removed first, then the oldest. */
const MAX = 100_000

/** Keys of MCP sessions: anyone may begin and end these, which must not displace those of users. */
export const MCP_KEY = 'mcp:'

interface Known {
  readonly before: number
  readonly until: number
}

export class RevokedKeys {
  readonly #users = new Map<string, Known>()
  readonly #mcp = new Map<string, Known>()

  add({ keys, before, until }: Revoked): void {
    for (const key of keys) {
      const known = this.#mapOf(key)
      const older = known.get(key)
      known.delete(key)
      known.set(key, {
        before: Math.max(before, older?.before ?? 0),
        until: Math.max(until, older?.until ?? 0),
      })
    }
    if (this.#users.size > MAX) {
      const now = Date.now() / 1_000
      for (const [key, one] of this.#users) if (one.until < now) this.#users.delete(key)
    }
    // Keys of MCP sessions expire in the order in which they were added.
    for (const known of [this.#users, this.#mcp]) {
      for (const key of known.keys()) {
        if (known.size <= MAX) break
        known.delete(key)
      }
    }
  }

  #mapOf(key: string): Map<string, Known> {
    return key.startsWith(MCP_KEY) ? this.#mcp : this.#users
  }

  /** `issued`: seconds since 1970. */
  has(keys: readonly string[], issued: number): boolean {
    return keys.some((key) => {
      const found = this.#mapOf(key).get(key)
      return found !== undefined && issued <= found.before
    })
  }

  /** All known revocations, for a process that starts later. */
  all(): readonly Revoked[] {
    return [...this.#users, ...this.#mcp].map(([key, one]) => ({ keys: [key], ...one }))
  }
}
