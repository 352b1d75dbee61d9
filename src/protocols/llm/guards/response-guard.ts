import type { LlmError } from '../error.ts'
import type { StreamEvent } from '../neutral.ts'
import { type BlockText, BorderMasker } from './border-masker.ts'
import type { GuardRule } from './guard-rule.ts'
import { noteFound } from './guard-text.ts'
import { guardedError } from './guarded-error.ts'
import { StreamMasker } from './masker.ts'

/**
 * Guards a stream, event by event: text is released once no later event can change it. Consecutive
 * blocks of one kind are one text: the end of the first is held back until it is known what its
 * last characters are part of. Events in between are not held back; the rest of a finding is then
 * masked, or the stream rejected, once it is known.
 */
export class EventGuard {
  readonly #rules: readonly GuardRule[]
  /** Blocks that have begun and not ended. */
  readonly #blocks = new Map<number, GuardedBlocks>()
  /** The blocks that further blocks of a kind continue. */
  readonly #last = new Map<string, GuardedBlocks>()
  /** Ends and starts of blocks that are held back with characters. */
  #held: { readonly of: GuardedBlocks; readonly events: StreamEvent[] } | undefined
  #isOver = false

  /** Rules that reject: a mask in the arguments of a tool would change what it does. */
  readonly #rejecting: readonly GuardRule[]

  constructor(rules: readonly GuardRule[]) {
    this.#rules = rules
    this.#rejecting = rules.filter(({ rejection }) => rejection !== undefined)
  }

  filter(events: readonly StreamEvent[]): readonly StreamEvent[] {
    const out: StreamEvent[] = []
    for (const event of events) {
      if (this.#isOver) break
      this.#take(event, out)
    }
    return out
  }

  #take(event: StreamEvent, out: StreamEvent[]): void {
    switch (event.kind) {
      case 'blockStart': {
        const { kind } = event.part
        const own =
          kind === 'toolCall' ? this.#beginCall(event.block) : this.#begin(event.block, kind)
        this.#hold(event, own, out)
        return
      }
      case 'delta': {
        const own = this.#blocks.get(event.block)
        if (this.#held?.of !== own) this.#settle(out)
        if (own === undefined) this.#emit(event, out)
        else this.#write(own.take({ block: event.block, text: event.text, isEnd: false }), out)
        return
      }
      case 'signature': {
        // The signature comes last: the text that it signs must be known to be unchanged.
        const own = this.#blocks.get(event.block)
        this.#settle(out)
        if (own !== undefined) this.#write(own.flush(), out)
        if (own?.isChanged(event.block) !== true) this.#emit(event, out)
        return
      }
      case 'blockEnd': {
        const own = this.#blocks.get(event.block)
        this.#blocks.delete(event.block)
        if (own?.isCall === true) {
          // No other block continues it.
          this.#settle(out)
          this.#write(own.flush(), out)
          this.#emit(event, out)
          return
        }
        if (own !== undefined) this.#held ??= { of: own, events: [] }
        this.#hold(event, own, out)
        if (own !== undefined) this.#write(own.take({ ...event, text: '', isEnd: true }), out)
        return
      }
      case 'finish':
      case 'end':
        this.#settle(out)
        for (const own of new Set(this.#blocks.values())) this.#write(own.flush(), out)
        this.#emit(event, out)
        return
      case 'error':
        out.push({ kind: 'error', error: guardedError(event.error, this.#rules) })
        return
      default:
        out.push(event)
    }
  }

  /** The arguments of each call are a text. */
  #beginCall(block: number): GuardedBlocks | undefined {
    if (this.#rejecting.length === 0) return undefined
    const own = new GuardedBlocks(this.#rejecting, true)
    this.#blocks.set(block, own)
    return own
  }

  /** Continues the text of the block before, unless that has not ended. */
  #begin(block: number, kind: string): GuardedBlocks {
    const last = this.#last.get(kind)
    const isFree = last !== undefined && ![...this.#blocks.values()].includes(last)
    const own = isFree ? last : new GuardedBlocks(this.#rules)
    this.#last.set(kind, own)
    this.#blocks.set(block, own)
    return own
  }

  /** Emits an event after the characters that are held back, if it concerns the same blocks. */
  #hold(event: StreamEvent, own: GuardedBlocks | undefined, out: StreamEvent[]): void {
    if (own !== undefined && this.#held?.of === own) {
      this.#held.events.push(event)
      return
    }
    this.#settle(out)
    if (event.kind === 'blockEnd' && own !== undefined) this.#held = { of: own, events: [event] }
    else this.#emit(event, out)
  }

  /** Releases everything that is held back. */
  #settle(out: StreamEvent[]): void {
    const held = this.#held
    if (held === undefined || this.#isOver) return
    this.#write(held.of.settle(), out)
    for (const event of held.events) this.#emit(event, out)
    this.#held = undefined
  }

  #write(written: readonly BlockText[] | LlmError, out: StreamEvent[]): void {
    if ('status' in written) {
      this.#emit({ kind: 'error', error: written }, out)
      this.#isOver = true
      return
    }
    for (const { block, text, isEnd } of written) {
      this.#reach(isEnd ? 'blockEnd' : 'blockStart', block, out)
      if (text !== '') this.#emit({ kind: 'delta', block, text }, out)
    }
  }

  /** Releases held events up to this one. */
  #reach(kind: 'blockStart' | 'blockEnd', block: number, out: StreamEvent[]): void {
    if (this.#held === undefined) return
    const { events } = this.#held
    const at = events.findIndex((one) => one.kind === kind && one.block === block)
    for (const event of events.splice(0, at + 1)) this.#emit(event, out)
    // A block that begins after an end need not wait.
    while (events[0]?.kind === 'blockStart') this.#emit(events.shift() as StreamEvent, out)
    if (events.length === 0) this.#held = undefined
  }

  #emit(event: StreamEvent, out: StreamEvent[]): void {
    if (!this.#isOver) out.push(event)
  }
}

/** Consecutive blocks of one kind, through one rule after the other. */
class GuardedBlocks {
  readonly #stages: readonly Stage[]
  /** The arguments of one tool call. */
  readonly isCall: boolean

  constructor(rules: readonly GuardRule[], isCall = false) {
    this.isCall = isCall
    this.#stages = rules.map((rule) => new Stage(rule))
  }

  isChanged(block: number): boolean {
    return this.#stages.some((stage) => stage.isChanged(block))
  }

  take(text: BlockText): readonly BlockText[] | LlmError {
    return this.#run([text], () => [])
  }

  /** Releases text that is held back for a block that may follow. */
  settle(): readonly BlockText[] | LlmError {
    return this.#run([], (stage) => stage.settle())
  }

  /** Releases all text. */
  flush(): readonly BlockText[] | LlmError {
    return this.#run([], (stage) => stage.flush())
  }

  #run(
    texts: readonly BlockText[],
    more: (stage: Stage) => readonly BlockText[],
  ): readonly BlockText[] | LlmError {
    let all = texts
    for (const stage of this.#stages) {
      all = [...all.flatMap((text) => stage.take(text)), ...more(stage)]
      const { rule, isFound } = stage
      noteFound(rule, isFound ? 1 : 0)
      if (rule.rejection !== undefined && isFound) return rule.rejection
    }
    return all
  }
}

/** One rule: each block separately, then across block borders. */
class Stage {
  readonly rule: GuardRule
  readonly #borders: BorderMasker
  #block: number | undefined
  #masker: StreamMasker
  #isFound = false
  readonly #changed = new Set<number>()

  constructor(rule: GuardRule) {
    this.rule = rule
    this.#borders = new BorderMasker(rule.recognizers)
    this.#masker = new StreamMasker(rule.recognizers)
  }

  get isFound(): boolean {
    return this.#isFound || this.#borders.isFound
  }

  isChanged(block: number): boolean {
    return this.#changed.has(block) || this.#borders.isChanged(block)
  }

  take({ block, text, isEnd }: BlockText): readonly BlockText[] {
    if (this.#block !== block) this.#masker = new StreamMasker(this.rule.recognizers)
    this.#block = block
    const pushed = this.#masker.push(text)
    return this.#cross(isEnd ? pushed + this.#masker.end() : pushed, isEnd)
  }

  settle(): readonly BlockText[] {
    return this.#borders.flush()
  }

  flush(): readonly BlockText[] {
    return [...this.#cross(this.#masker.end(), false), ...this.#borders.flush()]
  }

  #cross(text: string, isEnd: boolean): readonly BlockText[] {
    const { found } = this.#masker
    if (this.#block === undefined) return []
    if (found.length > 0) this.#changed.add(this.#block)
    this.#isFound ||= found.length > 0
    return this.#borders.take({ block: this.#block, text, isEnd })
  }
}
