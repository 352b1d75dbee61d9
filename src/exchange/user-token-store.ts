/** A stored token of one user for one server: encrypted, so that the store cannot read it. */
export interface StoredToken {
  readonly sealed: string
  /** Changes with every write. */
  readonly version: string
}

/** Stores the tokens of users for upstream servers. */
export interface UserTokenStore {
  read(key: string): Promise<StoredToken | undefined>
  /** Overwrites any existing token. */
  write(key: string, token: StoredToken): Promise<void>
  /**
   * Replaces the token only if it still has this version; false if it changed or no longer exists.
   */
  replace(key: string, version: string, token: StoredToken): Promise<boolean>
  /** True for one caller at a time, which renews this version: renewal consumes the token. */
  claim(key: string, version: string): Promise<boolean>
  /** With a `version`, removes the token only if it still has that version. */
  remove(key: string, version?: string): Promise<void>
  close?(): Promise<void>
}

/** Milliseconds after which another caller may renew a claimed version. */
export const CLAIM_AGE = 15_000

interface Kept {
  readonly token: StoredToken
  claimedUntil: number
}

/** User tokens in the memory of this process. */
export class MemoryUserTokens implements UserTokenStore {
  readonly #kept = new Map<string, Kept>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  async read(key: string): Promise<StoredToken | undefined> {
    return this.#kept.get(key)?.token
  }

  async write(key: string, token: StoredToken): Promise<void> {
    this.#kept.set(key, { token, claimedUntil: 0 })
  }

  async replace(key: string, version: string, token: StoredToken): Promise<boolean> {
    if (this.#kept.get(key)?.token.version !== version) return false
    await this.write(key, token)
    return true
  }

  async claim(key: string, version: string): Promise<boolean> {
    const kept = this.#kept.get(key)
    if (kept?.token.version !== version || kept.claimedUntil > this.#now()) return false
    kept.claimedUntil = this.#now() + CLAIM_AGE
    return true
  }

  async remove(key: string, version?: string): Promise<void> {
    const kept = this.#kept.get(key)
    if (version === undefined || kept?.token.version === version) this.#kept.delete(key)
  }

  get size(): number {
    return this.#kept.size
  }

  *entries(): Generator<readonly [key: string, token: StoredToken]> {
    for (const [key, { token }] of this.#kept) yield [key, token]
  }
}
