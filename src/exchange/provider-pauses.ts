/* Providers that asked for a pause: no process of the gateway calls them until it is over. */

/** What one worker sends to the others. */
export interface ProviderPause {
  /** A provider of a backend, and its address. */
  readonly provider: string
  readonly milliseconds: number
}

/** More providers than any configuration has; those whose pause ends first are forgotten first. */
const MAX_PAUSES = 10_000

export class ProviderPauses {
  /** When the pause of a provider ends, in monotonic milliseconds. */
  readonly #ends = new Map<string, number>()
  readonly #broadcast: (pause: ProviderPause) => void
  readonly #now: () => number

  /** `broadcast` sends to all other workers, if there are any. */
  constructor(
    broadcast: (pause: ProviderPause) => void = () => {},
    now: () => number = () => performance.now(),
  ) {
    this.#broadcast = broadcast
    this.#now = now
  }

  pause(provider: string, milliseconds: number): void {
    const pause = { provider, milliseconds }
    this.receive(pause)
    this.#broadcast(pause)
  }

  /** A pause that a provider asked another worker for. */
  receive({ provider, milliseconds }: ProviderPause): void {
    const now = this.#now()
    for (const [known, end] of this.#ends) if (end <= now) this.#ends.delete(known)
    if (this.#ends.size >= MAX_PAUSES) this.#ends.delete(this.#ends.keys().next().value as string)
    this.#ends.set(provider, now + milliseconds)
  }

  isPaused(provider: string): boolean {
    const end = this.#ends.get(provider)
    return end !== undefined && end > this.#now()
  }

  /** The pauses that are not over, for a worker that starts later. */
  get left(): readonly ProviderPause[] {
    const now = this.#now()
    return [...this.#ends]
      .map(([provider, end]) => ({ provider, milliseconds: end - now }))
      .filter(({ milliseconds }) => milliseconds > 0)
  }
}
