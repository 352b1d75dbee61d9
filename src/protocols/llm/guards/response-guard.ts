import { runToCompletion } from '../../../model/steps.ts'
import type { LlmError } from '../error.ts'
import type { StreamEvent } from '../neutral.ts'
import { type GuardRule, noteOutcome } from './guard-rule.ts'
import { maskSteps, StreamMasker } from './masker.ts'
import { type Effort, searchEffort } from './recognizers.ts'

/** What rules say of a text. */
export type GuardedText =
  | { readonly text: string; readonly rejection?: undefined }
  | { readonly text?: undefined; readonly rejection: LlmError }

/** In order: each rule sees what the one before left. `effort` is shared by texts of one request. */
export function guardText(text: string, rules: readonly GuardRule[], effort?: Effort): GuardedText {
  return runToCompletion(guardTextSteps(text, rules, effort))
}

/** The same in steps, where it is long. */
export function* guardTextSteps(
  text: string,
  rules: readonly GuardRule[],
  effort: Effort = searchEffort(),
): Generator<void, GuardedText> {
  let own = text
  for (const rule of rules) {
    const { recognizers, rejection } = rule
    const masked = yield* maskSteps(own, recognizers, effort)
    noteFound(rule, masked.found.length)
    if (masked.found.length === 0) continue
    if (rejection !== undefined) return { rejection }
    own = masked.text
  }
  return { text: own }
}

function noteFound({ rejection, check }: GuardRule, found: number): void {
  if (check === undefined) return
  noteOutcome(check, found === 0 ? 'passed' : rejection === undefined ? 'masked' : 'rejected')
}

/** Of a stream, event by event: text is let go once nothing that may come can change it. */
export class EventGuard {
  readonly #rules: readonly GuardRule[]
  readonly #blocks = new Map<number, GuardedBlock>()
  #isOver = false

  constructor(rules: readonly GuardRule[]) {
    this.#rules = rules
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
      case 'blockStart':
        if (event.part.kind !== 'toolCall') {
          this.#blocks.set(event.block, new GuardedBlock(this.#rules))
        }
        out.push(event)
        return
      case 'delta': {
        const block = this.#blocks.get(event.block)
        if (block === undefined) out.push(event)
        else this.#write(event.block, block.push(event.text), out)
        return
      }
      case 'signature':
        // It comes last: what it signs must be known to be unchanged.
        this.#flush(event.block, out)
        if (this.#blocks.get(event.block)?.isChanged !== true && !this.#isOver) out.push(event)
        return
      case 'blockEnd':
        this.#flush(event.block, out)
        this.#blocks.delete(event.block)
        if (!this.#isOver) out.push(event)
        return
      case 'finish':
      case 'end':
        for (const block of this.#blocks.keys()) this.#flush(block, out)
        if (!this.#isOver) out.push(event)
        return
      default:
        out.push(event)
    }
  }

  #flush(at: number, out: StreamEvent[]): void {
    const block = this.#blocks.get(at)
    if (block !== undefined && !this.#isOver) this.#write(at, block.end(), out)
  }

  #write(block: number, { text, rejection }: GuardedText, out: StreamEvent[]): void {
    if (rejection !== undefined) {
      this.#isOver = true
      out.push({ kind: 'error', error: rejection })
    } else if (text !== '') out.push({ kind: 'delta', block, text })
  }
}

/** The text of one block, through one rule after the other. */
class GuardedBlock {
  readonly #stages: readonly { readonly rule: GuardRule; readonly masker: StreamMasker }[]

  constructor(rules: readonly GuardRule[]) {
    this.#stages = rules.map((rule) => ({ rule, masker: new StreamMasker(rule.recognizers) }))
  }

  get isChanged(): boolean {
    return this.#stages.some(({ masker }) => masker.found.length > 0)
  }

  push(piece: string): GuardedText {
    return this.#run(piece, false)
  }

  end(): GuardedText {
    return this.#run('', true)
  }

  #run(piece: string, isEnd: boolean): GuardedText {
    let text = piece
    for (const { rule, masker } of this.#stages) {
      text = masker.push(text) + (isEnd ? masker.end() : '')
      noteFound(rule, masker.found.length)
      if (rule.rejection !== undefined && masker.found.length > 0) {
        return { rejection: rule.rejection }
      }
    }
    return { text }
  }
}
