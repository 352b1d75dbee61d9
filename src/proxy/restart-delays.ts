/** Milliseconds before the second restart in a row; each further delay is twice as long. */
const FIRST_DELAY = 1_000
const MAX_DELAY = 30_000
/** A worker that lived this long was healthy: its next exit is the first one again. */
const HEALTHY_LIFE = 60_000

/**
 * How long workers that exited wait for their replacement. The first exit of a healthy worker costs
 * no service; a worker that keeps exiting must not take the CPU time of the others.
 */
export class RestartDelays {
  readonly #exits = new Map<number, number>()

  /** Milliseconds until worker `number` is replaced, which lived for `life` milliseconds. */
  after(number: number, life: number): number {
    const before = life < HEALTHY_LIFE ? (this.#exits.get(number) ?? 0) : 0
    this.#exits.set(number, before + 1)
    return before === 0 ? 0 : Math.min(FIRST_DELAY * 2 ** (before - 1), MAX_DELAY)
  }
}
