import { runToCompletion } from '../../../model/steps.ts'
import { isPlain } from './folded-text.ts'
import { CONTEXT, type Finding, FOLDED_REACH, findSteps, settledIn } from './masker.ts'
import { type Recognizer, searchEffort } from './recognizers.ts'

/** Text of a block; if `isEnd`, the block has no more of it. */
export interface BlockText {
  readonly block: number
  readonly text: string
  readonly isEnd: boolean
}

/**
 * Masks findings that cross the borders of consecutive blocks, each of which has already been
 * searched separately. The last characters of a block, up to the max length of a finding, are held
 * back until it is known what they are part of; within a block nothing is.
 */
export class BorderMasker {
  readonly #recognizers: readonly Recognizer[]
  readonly #reach: number
  readonly #hasBreaks: boolean
  readonly #changed = new Set<number>()
  /** Text that is held back, preceded by released text that may be the beginning of a finding. */
  #text = ''
  #from = 0
  /** Where each block begins in the text, in order. */
  #blocks: { readonly block: number; readonly at: number }[] = []
  /** Blocks that have ended, but whose last characters are held back. */
  #ended: number[] = []
  isFound = false

  constructor(recognizers: readonly Recognizer[]) {
    this.#recognizers = recognizers
    this.#hasBreaks = recognizers.every(({ crossesBreaks }) => crossesBreaks !== true)
    this.#reach = Math.max(0, ...recognizers.map(({ maxLength }) => maxLength)) + CONTEXT
  }

  isChanged(block: number): boolean {
    return this.#changed.has(block)
  }

  take({ block, text, isEnd }: BlockText): readonly BlockText[] {
    if (text === '' && !isEnd) return []
    if (text !== '' && this.#blocks.at(-1)?.block !== block) {
      this.#blocks.push({ block, at: this.#text.length })
    }
    this.#text += text
    if (isEnd) this.#ended.push(block)
    // The search of the block already holds back as much as may be the beginning of a finding.
    if (!isEnd && this.#blocks.length < 2) return this.#release(this.#text.length)
    return this.#release(Math.max(settledIn(this.#text, this.#reach, this.#hasBreaks), this.#from))
  }

  /** Releases everything: of a later finding, only the part that follows is masked. */
  flush(): readonly BlockText[] {
    return this.#release(this.#text.length)
  }

  /** Settles findings that begin before `limit` and releases everything before it. */
  #release(limit: number): readonly BlockText[] {
    const out: BlockText[] = []
    let at = this.#from
    for (const { start, end, mask } of this.#across(limit)) {
      const from = Math.max(at, start)
      const masked = this.#pieces(from, end)
      out.push(...this.#pieces(at, from), {
        block: masked[0]?.block ?? 0,
        text: mask,
        isEnd: false,
      })
      for (const one of this.#pieces(start, end)) this.#changed.add(one.block)
      at = end
    }
    const end = Math.max(at, limit)
    out.push(...this.#pieces(at, end))
    this.#keepFrom(end)
    return this.#withEnds(out)
  }

  /** Returns findings that cross a border and have not been completely released. */
  #across(limit: number): readonly Finding[] {
    if (this.#blocks.length < 2) return []
    const borders = this.#blocks.slice(1).map(({ at }) => at)
    const all = runToCompletion(findSteps(this.#text, this.#recognizers, searchEffort()))
    const own = all.filter(
      ({ start, end }) =>
        start < limit && end > this.#from && borders.some((at) => start < at && at < end),
    )
    this.isFound ||= own.length > 0
    return own
  }

  #keepFrom(end: number): void {
    const reach = isPlain(this.#text) ? this.#reach : FOLDED_REACH * this.#reach
    const kept = Math.max(0, end - reach)
    this.#text = this.#text.slice(kept)
    this.#from = end - kept
    const blocks = this.#blocks.map(({ block, at }) => ({ block, at: Math.max(0, at - kept) }))
    this.#blocks = blocks.filter((_, index) => (blocks[index + 1]?.at ?? 1) > 0)
  }

  /** Adds the end of each block after its last characters, in order. */
  #withEnds(released: readonly BlockText[]): readonly BlockText[] {
    if (this.#ended.length === 0) return released
    const held = new Set(this.#pieces(this.#from, this.#text.length).map(({ block }) => block))
    const out = [...released]
    let after = 0
    while (this.#ended.length > 0 && !held.has(this.#ended[0] as number)) {
      const block = this.#ended.shift() as number
      after = Math.max(after, out.findLastIndex((one) => one.block === block) + 1)
      out.splice(after++, 0, { block, text: '', isEnd: true })
    }
    return out
  }

  /** Returns the text between two positions, by block. */
  #pieces(start: number, end: number): readonly BlockText[] {
    const out: BlockText[] = []
    for (const [index, { block, at }] of this.#blocks.entries()) {
      const until = Math.min(end, this.#blocks[index + 1]?.at ?? end)
      const from = Math.max(start, at)
      if (from < until) out.push({ block, text: this.#text.slice(from, until), isEnd: false })
    }
    return out
  }
}
