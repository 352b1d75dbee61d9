import type { BodyFlow } from '../exchange/body-part.ts'
import { REQUEST_SLICE } from '../model/steps.ts'

type Pieces = Generator<Uint8Array>

/**
 * Forwards a transformed body, parts of which are made piece by piece: each turn lasts a few
 * milliseconds, other work runs in between, and reading is paused meanwhile.
 */
export class PiecewiseBody {
  readonly #flow: BodyFlow
  readonly #passed: () => void
  #isWanted = true
  #isBusy = false
  #isBlocked = false
  #onIdle: (() => void) | undefined

  /** `passed` is called when something may have been forwarded. */
  constructor(flow: BodyFlow, passed: () => void) {
    this.#flow = flow
    this.#passed = passed
  }

  /** Returns false to pause until the flow's `drained` is called. */
  write(made: Uint8Array | Pieces): boolean {
    if (made instanceof Uint8Array) return this.#send(made)
    const isOver = this.#slice(made)
    if (!isOver) {
      this.#later(made, () => {
        if (!this.#isBlocked) this.#flow.drained()
      })
    }
    return isOver && !this.#isBlocked
  }

  /** Ends the body: `last` makes the rest, and `settle` what had to wait for others after that. */
  end(last: () => Uint8Array, settle: (() => Promise<Pieces>) | undefined): void {
    if (this.#isBusy) {
      this.#onIdle = () => this.end(last, settle)
      return
    }
    this.#send(last())
    const flow = this.#flow
    if (settle === undefined) flow.end()
    else {
      settle().then(
        (held) => this.#later(held, () => flow.end()),
        (why) => flow.fail(why),
      )
    }
  }

  resume(): void {
    this.#isBlocked = false
    if (!this.#isBusy) this.#flow.drained()
  }

  abort(): void {
    this.#isWanted = false
  }

  #send(bytes: Uint8Array): boolean {
    this.#passed()
    if (bytes.length > 0) this.#isBlocked = !this.#flow.write(bytes)
    return !this.#isBlocked
  }

  /** Sends as many pieces together as fit into a turn; returns true if these were all. */
  #slice(pieces: Pieces): boolean {
    const made: Uint8Array[] = []
    let isOver = false
    for (const began = performance.now(); performance.now() - began < REQUEST_SLICE; ) {
      const { done, value } = pieces.next()
      isOver = done === true
      if (isOver) break
      if (value.length > 0) made.push(value)
    }
    this.#send(made.length === 1 ? (made[0] as Uint8Array) : Buffer.concat(made))
    return isOver
  }

  #later(pieces: Pieces, onOver: () => void): void {
    this.#isBusy = true
    const turn = () => {
      if (!this.#isWanted) return
      try {
        if (!this.#slice(pieces)) {
          setImmediate(turn)
          return
        }
        this.#isBusy = false
        const next = this.#onIdle ?? onOver
        this.#onIdle = undefined
        next()
      } catch (why) {
        this.#flow.fail(why)
      }
    }
    setImmediate(turn)
  }
}
