import type { BodyFlow, BodyTransformer } from '../exchange/body-part.ts'
import { errorIn } from '../exchange/policy-error.ts'
import type { PolicyPlace } from '../model/policy.ts'
import type { Fields } from '../wire/http1/fields.ts'
import type { BodySink } from '../wire/streams.ts'
import type { Room } from './kept-body.ts'
import { KeptPieces } from './kept-pieces.ts'

export interface ChainEvents {
  /** The sender of the body may continue. */
  drained(): void
  /** A transformer failed, or there is no room for what it holds: no more output follows. */
  failed(why: unknown): void
}

/** There is no room for bytes that must be held. */
export const CROWDED_OUT: unique symbol = Symbol('crowded out')

const NO_BYTES = Buffer.alloc(0)

interface Stage {
  readonly transformer: BodyTransformer
  readonly policy: PolicyPlace | undefined
}

/**
 * A body that flows through transformers, which are added at its far end while the output so far is
 * held there. Once the chain is connected, the body flows, and back-pressure flows the other way.
 */
export class BodyChain implements BodySink {
  readonly #events: ChainEvents
  readonly #room: Room | undefined
  readonly #stages: Stage[] = []
  readonly #held = new KeptPieces()
  #size = 0
  #taken = 0
  /** The end has arrived at the far end. */
  #isEnded = false
  #trailers: Fields | undefined
  #sink: BodySink | undefined
  /** The sender of the body waits. */
  #isStopped = false
  #max = -1
  #collected: ((isWhole: boolean) => void) | undefined
  #isOver = false
  /** The output may have another length than the input. */
  isChanged = false

  constructor(events: ChainEvents, room?: Room) {
    this.#events = events
    this.#room = room
  }

  /** The output is complete, and all of it is held. */
  get isWhole(): boolean {
    return this.#isEnded && this.#sink === undefined
  }

  get size(): number {
    return this.#size
  }

  get trailers(): Fields | undefined {
    return this.#trailers
  }

  /** The bytes that are held. */
  get bytes(): Buffer {
    const [first, ...others] = this.#held.all()
    if (first === undefined) return NO_BYTES
    if (others.length === 0) return first
    const bytes = Buffer.concat([first, ...others])
    this.#held.clear()
    this.#held.add(bytes)
    return bytes
  }

  /** The body is unchanged, so that pieces do not need to be owned. */
  get isPlain(): boolean {
    return this.#stages.length === 0 && this.#sink !== undefined
  }

  /** It has transformers, and more input follows. */
  get isPassing(): boolean {
    return this.#stages.length > 0 && !this.#isEnded
  }

  get isConnected(): boolean {
    return this.#sink !== undefined
  }

  // Called by the sender of the body.

  /** Keeps the bytes: they must not be modified afterwards. */
  write(bytes: Buffer): boolean {
    if (this.#isOver || bytes.length === 0) return true
    const more = this.#into(0, bytes)
    if (!more) this.#isStopped = true
    return more
  }

  end(trailers: Fields | undefined): void {
    if (this.#isOver) return
    this.#trailers = trailers
    this.#endOf(0)
  }

  abort(reason: string): void {
    const sink = this.#sink
    this.drop()
    sink?.abort(reason)
  }

  /** No more input is available for now. */
  flush(): void {
    if (this.#isOver) return
    for (const [i, { transformer }] of this.#stages.entries())
      this.#guard(i, () => transformer.flush?.())
  }

  // Called by the code that decides about the body.

  /** Waits until the body is complete, or until more than `max` bytes are held. */
  collect(max: number): boolean | Promise<boolean> {
    if (this.#isEnded || this.#size > max) return this.#size <= max
    this.#max = max
    const collected = new Promise<boolean>((resolve) => {
      this.#collected = resolve
    })
    this.#resumeFrom(this.#stages.length - 1)
    return collected
  }

  /** Replaces a body that is complete and held. */
  replace(bytes: Uint8Array): void {
    this.#release()
    this.isChanged = true
    this.#hold(asBuffer(bytes))
  }

  /** Adds a transformer; held bytes go through it first. */
  add(
    policy: PolicyPlace | undefined,
    open: (flow: BodyFlow) => BodyTransformer | undefined,
  ): void {
    const at = this.#stages.length
    const transformer = open(this.#flow(at))
    if (transformer === undefined) return
    this.isChanged = true
    this.#stages.push({ transformer, policy })
    const held = this.#held.all()
    const wasEnded = this.#isEnded
    this.#release()
    this.#isEnded = false
    let more = true
    for (const bytes of held) more = this.#into(at, bytes)
    if (wasEnded) this.#endOf(at)
    // If the sender had to wait at this end, it now waits for the transformer, if at all.
    else if (more) this.#resumeFrom(at - 1)
  }

  /** From now on the body flows to `sink`. */
  connect(sink: BodySink): void {
    if (this.#isOver) return
    this.#sink = sink
    const held = this.#held.all()
    this.#release()
    let more = true
    for (const bytes of held) more = sink.write(bytes)
    if (this.#isEnded) sink.end(this.#trailers)
    else if (more) this.#resumeFrom(this.#stages.length - 1)
  }

  /** The sink accepts more. */
  resume(): void {
    if (this.#isOver) return
    this.#resumeFrom(this.#stages.length - 1)
  }

  /** The body is no longer needed. */
  drop(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#release()
    this.#collected = undefined
    for (const { transformer } of this.#stages) {
      try {
        transformer.abort()
      } catch {
        // It is abandoned anyway.
      }
    }
  }

  // Internals.

  #flow(at: number): BodyFlow {
    let isDone = false
    return {
      write: (bytes) => {
        if (this.#isOver || isDone || bytes.length === 0) return true
        return this.#into(at + 1, asBuffer(bytes))
      },
      end: () => {
        if (this.#isOver || isDone) return
        isDone = true
        this.#endOf(at + 1)
      },
      fail: (why) => this.#fail(errorIn(this.#stages[at]?.policy, why)),
      drained: () => {
        if (!this.#isOver) this.#resumeFrom(at - 1)
      },
    }
  }

  #into(at: number, bytes: Buffer): boolean {
    const stage = this.#stages[at]
    if (stage === undefined) return this.#out(bytes)
    return this.#guard(at, () => stage.transformer.write(bytes)) ?? true
  }

  #endOf(at: number): void {
    const stage = this.#stages[at]
    if (stage === undefined) this.#outEnd()
    else this.#guard(at, () => stage.transformer.end())
  }

  /** Resumes stage `at`, or the sender of the body if there is no such stage. */
  #resumeFrom(at: number): void {
    const stage = this.#stages[at]
    if (stage !== undefined) this.#guard(at, () => stage.transformer.resume())
    else if (this.#isStopped) {
      this.#isStopped = false
      this.#events.drained()
    }
  }

  #guard<T>(at: number, work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#fail(errorIn(this.#stages[at]?.policy, error))
      return undefined
    }
  }

  #fail(why: unknown): void {
    if (this.#isOver) return
    this.drop()
    this.#events.failed(why)
  }

  #out(bytes: Buffer): boolean {
    const sink = this.#sink
    if (sink !== undefined) return sink.write(bytes)
    this.#hold(bytes)
    const collected = this.#collected
    if (collected !== undefined && this.#size > this.#max) {
      this.#collected = undefined
      collected(false)
    }
    return this.#collected !== undefined
  }

  #hold(bytes: Buffer): void {
    if (this.#room?.retain(bytes.length) === false) {
      this.#fail(CROWDED_OUT)
      return
    }
    this.#taken += bytes.length
    this.#size += bytes.length
    this.#held.add(bytes)
  }

  #release(): void {
    this.#held.clear()
    this.#size = 0
    this.#room?.release(this.#taken)
    this.#taken = 0
  }

  #outEnd(): void {
    this.#isEnded = true
    const collected = this.#collected
    this.#collected = undefined
    collected?.(this.#size <= this.#max)
    this.#sink?.end(this.#trailers)
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
