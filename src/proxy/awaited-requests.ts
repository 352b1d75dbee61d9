// HOT PATH: two calls for each request. Guarded by bench/proxy.ts.

import { type NextTurn, nextTurn } from '../wire/turn-writes.ts'

/** Min number of responses between two calls of `onNone`. */
const MIN_RESPONSES = 32

/**
 * Counts requests whose response has not begun. Work that delays all requests is best done while
 * there are none; ongoing streams, such as those of events, do not count.
 */
export class AwaitedRequests {
  /** Called when no request was awaited at the end of a turn of the event loop, now and then. */
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
    // By then the response is sent, and input that arrived meanwhile is read.
    this.#turns.add(this.#look)
  }

  readonly #look = (): void => {
    this.#isLooking = false
    if (this.#awaited > 0) return
    this.#responses = 0
    this.onNone?.()
  }
}

/** Shared by all ports. */
export const awaitedRequests: AwaitedRequests = new AwaitedRequests()
