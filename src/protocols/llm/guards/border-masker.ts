import { runToCompletion } from '../../../model/steps.ts'
import { CONTEXT, type Finding, findSteps, lastBreak } from './masker.ts'
import { type Recognizer, searchEffort } from './recognizers.ts'

/** Text of a block; the block has no more of it if `isEnd`. */
export interface BlockText {
  readonly block: number
  readonly text: string
  readonly isEnd: boolean
}

/**
 * Masks what goes over the borders of blocks that follow each other, each of which was searched by
 * itself before. The last letters of a block wait until it is known what they are a part of, as long
 * as a finding may be; within a block nothing does.
 */
export class BorderMasker {
  readonly #recognizers: readonly Recognizer[]
  readonly #reach: number
  readonly #hasBreaks: boolean
  readonly #changed = new Set<number>()
  /** What has not been let go, and before it what has and may be the beginning of a finding. */
  #text = ''
  #from = 0
  /** Where the blocks of the text begin in it, in order. */
  #blocks: { readonly block: number; readonly at: number }[] = []
  /** Blocks that have ended, but whose letters wait. */
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
    // Whoever searched the block keeps as much of it as the beginning of a finding may be.
    if (!isEnd && this.#blocks.length < 2) return this.#release(this.#text.length)
    const reached = Math.max(0, this.#text.length - this.#reach)
    const settled = this.#hasBreaks ? lastBreak(this.#text, reached) : reached
    return this.#release(Math.max(settled, this.#from))
  }

  /** All of it: of what is found later, only what comes later is masked. */
  flush(): readonly BlockText[] {
    return this.#release(this.#text.length)
  }

  /** Findings that begin before `limit` are settled; all before it is let go. */
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

  /** What goes over a border and has not been let go as a whole. */
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
    const kept = Math.max(0, end - this.#reach)
    this.#text = this.#text.slice(kept)
    this.#from = end - kept
    const blocks = this.#blocks.map(({ block, at }) => ({ block, at: Math.max(0, at - kept) }))
    this.#blocks = blocks.filter((_, index) => (blocks[index + 1]?.at ?? 1) > 0)
  }

  /** Each after its last letters, and in their order. */
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

  /** The text between these places, by block. */
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
