import { runToCompletion } from '../../../model/steps.ts'
import { candidateSteps, STEP } from './candidates.ts'
import {
  type Effort,
  type Finding,
  type Known,
  type Recognizer,
  type Span,
  searchEffort,
} from './recognizers.ts'

/** How many letters before and after itself a finding depends on. */
const CONTEXT = 2
/**
 * The findings of one text, in order. Each recognizer is asked again only behind what it found
 * last: if all of them were searched for at each finding, a text with many would cost its length
 * as many times.
 */
class Findings {
  readonly #text: string
  readonly #recognizers: readonly Recognizer[]
  /** What each found last; null: nothing is left. */
  readonly #found: (Finding | null | undefined)[] = []
  readonly #effort: Effort
  readonly #known: Known
  /** A text that others need not wait for is searched at once. */
  readonly #isLong: boolean

  constructor(text: string, { recognizers, effort, known = {} }: Search) {
    this.#known = known
    this.#text = text
    this.#recognizers = recognizers
    this.#effort = effort
    this.#isLong = text.length > STEP
  }

  /** The first one at or after `from`, which never goes back; of several at one place the longest. */
  *first(from: number): Generator<void, Finding | undefined> {
    let first: Finding | undefined
    for (const [index, recognizer] of this.#recognizers.entries()) {
      let found = this.#found[index]
      if (found === undefined || (found !== null && found.start < from)) {
        const next = this.#isLong
          ? yield* this.#findSteps(recognizer, from)
          : recognizer.find(this.#text, from, this.#effort, this.#known)
        found = next === undefined ? null : { ...next, recognizer }
        this.#found[index] = found
      }
      if (found === null) continue
      const isBetter =
        first === undefined ||
        found.start < first.start ||
        (found.start === first.start && found.end > first.end)
      if (isBetter) first = found
    }
    return first
  }

  /** With a part of the effort at a time: whoever has spent that says where it stopped. */
  *#findSteps(recognizer: Recognizer, from: number): Generator<void, Span | undefined> {
    if (recognizer.findSteps !== undefined) {
      return yield* recognizer.findSteps(this.#text, from, this.#effort)
    }
    const effort = this.#effort
    for (let at = from; ; ) {
      const given = Math.max(0, Math.min(effort.left, STEP_EFFORT))
      const own: Effort = { left: given }
      const found = recognizer.find(this.#text, at, own, this.#known)
      const isSpent = own.left < 0
      effort.left -= isSpent && given === STEP_EFFORT ? given : given - own.left
      if (!isSpent || effort.left <= 0 || found === undefined) return found
      at = found.start
      yield
    }
  }
}

/** Of one step: a fifth of a millisecond. */
const STEP_EFFORT = 1 << 12

export interface MaskedText {
  readonly text: string
  /** Names of the recognizers that found something. */
  readonly found: readonly string[]
}

/** At once. */
export function maskText(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort = searchEffort(),
): MaskedText {
  return runToCompletion(maskSteps(text, recognizers, effort))
}

/** In steps, between which others may have their turn, where it is long. */
export function* maskSteps(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort,
): Generator<void, MaskedText> {
  const known: Known = text.length > STEP ? { candidates: yield* candidateSteps(text) } : {}
  const found = new Set<string>()
  const { out } = yield* maskUntil(text, 0, text.length, { recognizers, effort, found, known })
  return { text: out, found: [...found] }
}

interface Search {
  readonly recognizers: readonly Recognizer[]
  readonly effort: Effort
  readonly found: Set<string>
  readonly known?: Known
}

/** Findings of one step. */
const STEP_FINDINGS = 256

/** With the findings that begin from `from` on and before `limit` masked; `end`: behind all that. */
function* maskUntil(
  text: string,
  from: number,
  limit: number,
  search: Search,
): Generator<void, { readonly out: string; readonly end: number }> {
  const findings = new Findings(text, search)
  let out = ''
  let at = from
  for (let count = 1; at < limit; count++) {
    const finding = yield* findings.first(at)
    if (finding === undefined || finding.start >= limit) {
      out += text.slice(at, limit)
      at = limit
      break
    }
    out += text.slice(at, finding.start) + finding.recognizer.mask
    search.found.add(finding.recognizer.name)
    at = finding.end
    if (count % STEP_FINDINGS === 0) yield
  }
  return { out, end: at }
}

/**
 * Masks a text that comes in pieces. A piece is let go as soon as nothing that may still come can
 * make a finding of it, so that words flow and half a number waits. The result is the same for any
 * pieces.
 */
export class StreamMasker {
  readonly #recognizers: readonly Recognizer[]
  /** The longest finding, and what it looks at after itself. */
  readonly #reach: number
  /** There are letters that no finding goes over. */
  readonly #hasBreaks: boolean
  readonly #found = new Set<string>()
  readonly #effort: Effort | undefined
  /** What has not been let go, and before it the context that has. */
  #text = ''
  #from = 0

  /** `effort`: what is left to search with; each piece of a stream has its own. */
  constructor(recognizers: readonly Recognizer[], effort?: Effort) {
    this.#recognizers = recognizers
    this.#effort = effort
    this.#hasBreaks = recognizers.every(({ crossesBreaks }) => crossesBreaks !== true)
    this.#reach = Math.max(0, ...recognizers.map(({ maxLength }) => maxLength)) + CONTEXT
  }

  get found(): readonly string[] {
    return [...this.#found]
  }

  push(piece: string): string {
    if (this.#recognizers.length === 0) return piece
    this.#text += piece
    const reached = Math.max(0, this.#text.length - this.#reach)
    const settled = this.#hasBreaks ? lastBreak(this.#text, reached) : reached
    return this.#release(Math.max(settled, this.#from))
  }

  end(): string {
    return this.#release(this.#text.length)
  }

  /** Findings that begin before `limit` are settled; all before it is let go. */
  #release(limit: number): string {
    const effort = this.#effort ?? searchEffort()
    const search = { recognizers: this.#recognizers, effort, found: this.#found }
    const { out, end } = runToCompletion(maskUntil(this.#text, this.#from, limit, search))
    const kept = Math.max(0, end - CONTEXT)
    this.#text = this.#text.slice(kept)
    this.#from = end - kept
    return out
  }
}

/**
 * Behind the last letter that no finding goes over: punctuation that none has, or a space beside a
 * small letter. `from`: there is none after it.
 */
function lastBreak(text: string, from: number): number {
  for (let at = text.length - 1; at >= from; at--) {
    const code = text.charCodeAt(at)
    if (BREAKS.has(code)) return at + 1
    // What follows a space must be known, unless what stands before it is enough.
    if (code === 32 && (isSmall(text.charCodeAt(at - 1)) || isSmall(text.charCodeAt(at + 1)))) {
      return at + 1
    }
  }
  return from
}

const BREAKS: ReadonlySet<number> = new Set([...',;!?"<>{}\n\r\t'].map((it) => it.charCodeAt(0)))

function isSmall(code: number): boolean {
  return code >= 97 && code <= 122
}
