/** Sessions that have ended although the IDs that clients have can still be opened. */
export interface EndedSessions {
  /** Resolves when every process knows about it. */
  end(keys: readonly string[]): Promise<void>
  has(key: string): boolean
}

/** Max number of keys to remember; then the oldest is forgotten. */
const MAX = 100_000

/** For a process that serves alone. */
export class OwnEndedSessions implements EndedSessions {
  readonly #keys = new Set<string>()

  async end(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.#keys.add(key)
      const [oldest] = this.#keys
      if (this.#keys.size > MAX && oldest !== undefined) this.#keys.delete(oldest)
    }
  }

  has(key: string): boolean {
    return this.#keys.has(key)
  }
}
