import type { BodyFlow } from '../exchange/body-part.ts'
import { REQUEST_SLICE } from '../model/steps.ts'

type Pieces = Generator<Uint8Array>

/**
 * Sends on what is made of a body, part of which is made piece by piece: then for some milliseconds
 * at a time, between which others have their turn, and nothing more is read meanwhile.
 */
export class PiecewiseBody {
  readonly #flow: BodyFlow
  readonly #passed: () => void
  #isWanted = true
  #isBusy = false
  #isBlocked = false
  #onIdle: (() => void) | undefined

  /** `passed`: something may have been sent on. */
  constructor(flow: BodyFlow, passed: () => void) {
    this.#flow = flow
    this.#passed = passed
  }

  /** False: no more until `drained` of the flow is called. */
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

  /** The body is over, and `last` makes what is left; what waited for others comes after that. */
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

  /** As many pieces as fit into a turn, sent together; true: these were all. */
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
