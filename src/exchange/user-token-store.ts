/** What is kept for one user of one server: sealed, so that whoever keeps it cannot read it. */
export interface StoredToken {
  readonly sealed: string
  /** Another one with each change. */
  readonly version: string
}

/** Who keeps the tokens of users for upstream servers. */
export interface UserTokenStore {
  read(key: string): Promise<StoredToken | undefined>
  /** In place of whatever was there. */
  write(key: string, token: StoredToken): Promise<void>
  /** Only in place of this version; false: it is another one by now, or gone. */
  replace(key: string, version: string, token: StoredToken): Promise<boolean>
  /** True for one caller at a time, which is to renew this version: renewal uses a token up. */
  claim(key: string, version: string): Promise<boolean>
  /** `version`: only if it still is that one. */
  remove(key: string, version?: string): Promise<void>
  close?(): Promise<void>
}

/** Milliseconds after which somebody else may renew what was claimed. */
export const CLAIM_AGE = 15_000

interface Kept {
  readonly token: StoredToken
  claimedUntil: number
}

/** In this process, for as long as it lives. */
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
