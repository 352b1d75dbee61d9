// HOT PATH: two calls for each request. Guarded by bench/proxy.ts.

import { type NextTurn, nextTurn } from '../wire/turn-writes.ts'

/** Responses after which a moment without a request is told at the earliest. */
const MIN_RESPONSES = 32

/**
 * Requests whose response has not begun. What holds everybody up is best done while there are none;
 * streams that go on, as those of events, do not count.
 */
export class AwaitedRequests {
  /** Called when none was awaited at the end of a turn of the event loop, now and then. */
  onNone: (() => void) | undefined = undefined
  #awaited = 0
  #responses = 0
  #isLooking = false
  readonly #turns: NextTurn

  constructor(turns: NextTurn = nextTurn) {
    this.#turns = turns
  }

  get count(): number {
    return this.#awaited
  }

  began(): void {
    this.#awaited++
  }

  /** The response begins, or there will be none. */
  responded(): void {
    this.#responses++
    if (--this.#awaited > 0 || this.#responses < MIN_RESPONSES) return
    if (this.#isLooking || this.onNone === undefined) return
    this.#isLooking = true
    // The response has left by then, and what came meanwhile was read.
    this.#turns.add(this.#look)
  }

  readonly #look = (): void => {
    this.#isLooking = false
    if (this.#awaited > 0) return
    this.#responses = 0
    this.onNone?.()
  }
}

/** Of all ports. */
export const awaitedRequests: AwaitedRequests = new AwaitedRequests()
