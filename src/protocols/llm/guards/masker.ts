import { runToCompletion } from '../../../model/steps.ts'
import { CandidateWalk, STEP } from './candidates.ts'
import { type Effort, type Known, type Recognizer, type Span, searchEffort } from './recognizers.ts'

/** How many characters before and after itself a finding depends on. */
export const CONTEXT = 2

export interface MaskedText {
  readonly text: string
  /** Names of the recognizers that found something. */
  readonly found: readonly string[]
}

/** Masks a text synchronously. */
export function maskText(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort = searchEffort(),
): MaskedText {
  return runToCompletion(maskSteps(text, recognizers, effort))
}

/** Masks a long text in steps, between which other requests get their turn. */
export function* maskSteps(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort,
): Generator<void, MaskedText> {
  // In a long text, the walk advances with the search and ends where the search does.
  const known: Known = text.length > STEP ? { walk: new CandidateWalk(text) } : {}
  const found = new Set<string>()
  const { out } = yield* maskUntil(text, 0, text.length, { recognizers, effort, found, known })
  return { text: out, found: [...found] }
}

/** A range to mask, and its mask. */
export interface Finding extends Span {
  readonly name: string
  readonly mask: string
}

interface Search {
  readonly recognizers: readonly Recognizer[]
  readonly effort: Effort
  readonly found: Set<string>
  readonly known?: Known
  /** The findings in order; if absent, their positions are not needed. */
  readonly findings?: Finding[]
}

/** Finds the ranges of a text that would be masked. */
export function* findSteps(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort,
): Generator<void, readonly Finding[]> {
  const known: Known = text.length > STEP ? { walk: new CandidateWalk(text) } : {}
  const findings: Finding[] = []
  const search = { recognizers, effort, found: new Set<string>(), known, findings }
  yield* maskUntil(text, 0, text.length, search)
  return findings
}

/** Findings per step, and the effort per step for near matches: a fifth of a millisecond each. */
const STEP_FINDINGS = 256
const STEP_EFFORT = 1 << 12

/**
 * Masks the findings that begin at or after `from` and before `limit`; `end` is the position after
 * all that. Of several at one position, the longest counts. Each recognizer is called again only
 * after its last finding: if all of them searched again at each finding, a text with many would
 * cost its length as many times.
 */
function* maskUntil(
  text: string,
  from: number,
  limit: number,
  { recognizers, effort, found, known = {}, findings: noted }: Search,
): Generator<void, { readonly out: string; readonly end: number }> {
  const count = recognizers.length
  /** The last finding of each recognizer, or that nothing is left. */
  const starts: number[] = new Array(count).fill(-1)
  const ends: number[] = new Array(count).fill(-1)
  /** All that is known is that it finds nothing before its start. */
  const isOpen: boolean[] = new Array(count).fill(false)
  const parts: string[] = []
  let at = from
  for (let findings = 1; at < limit; ) {
    let first = -1
    for (let index = 0; index < count; index++) {
      const last = starts[index] as number
      if (last < at || (isOpen[index] && last < (known.walk?.until ?? limit))) {
        const own = recognizers[index] as Recognizer
        const begin = Math.max(at, isOpen[index] ? last : at)
        // A short text is searched at once: it does not block other requests.
        const next =
          text.length > STEP
            ? yield* findInSteps(own, text, begin, effort, known)
            : own.find(text, begin, effort, known)
        const { until = 0, isOver = true } = known.walk ?? {}
        isOpen[index] = next === undefined && own.needsWalk === true && !isOver
        starts[index] = next?.start ?? (isOpen[index] ? Math.max(begin, until) : NOTHING_LEFT)
        ends[index] = next?.end ?? NOTHING_LEFT
      }
      const start = starts[index] as number
      const best = first < 0 ? NOTHING_LEFT : (starts[first] as number)
      if (start > best || start === NOTHING_LEFT) continue
      if (start < best || (ends[index] as number) > (ends[first] as number)) first = index
    }
    const start = first < 0 ? NOTHING_LEFT : (starts[first] as number)
    if (start >= limit) break
    if (isOpen[first]) {
      known.walk?.goOn()
      yield
      continue
    }
    const { mask, name } = recognizers[first] as Recognizer
    parts.push(text.slice(at, start), mask)
    found.add(name)
    at = ends[first] as number
    noted?.push({ start, end: at, name, mask })
    if (findings++ % STEP_FINDINGS === 0) yield
  }
  if (parts.length === 0) return { out: text.slice(from, limit), end: limit }
  parts.push(text.slice(at, limit))
  return { out: parts.join(''), end: Math.max(at, limit) }
}

const NOTHING_LEFT = Number.MAX_SAFE_INTEGER

/** Searches with part of the effort at a time: a recognizer that runs out reports its position. */
function* findInSteps(
  recognizer: Recognizer,
  text: string,
  from: number,
  effort: Effort,
  known: Known,
): Generator<void, Span | undefined> {
  if (recognizer.findSteps !== undefined) return yield* recognizer.findSteps(text, from, effort)
  for (let at = from; ; ) {
    const given = Math.max(0, Math.min(effort.left, STEP_EFFORT))
    const own: Effort = { left: given }
    const found = recognizer.find(text, at, own, known)
    const isSpent = own.left < 0
    effort.left -= isSpent && given === STEP_EFFORT ? given : given - own.left
    if (!isSpent || effort.left <= 0 || found === undefined) return found
    at = found.start
    yield
  }
}

/**
 * Masks a text that arrives in pieces. A piece is released as soon as no later piece can make it
 * part of a finding, so words flow while half a number is held back. The result does not depend on
 * how the text is split.
 */
export class StreamMasker {
  readonly #recognizers: readonly Recognizer[]
  /** The max length of a finding, plus the context after it. */
  readonly #reach: number
  /** True if there are characters that no finding crosses. */
  readonly #hasBreaks: boolean
  readonly #found = new Set<string>()
  readonly #effort: Effort | undefined
  /** Text that is held back, preceded by released context. */
  #text = ''
  #from = 0

  /** `effort` is the remaining search effort; by default, each piece of a stream has its own. */
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

  /** Settles findings that begin before `limit` and releases everything before it. */
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
 * Returns the position after the last character that no finding crosses: punctuation that none
 * contains, or a space next to a lowercase letter. Returns `from` if there is none after it.
 */
export function lastBreak(text: string, from: number): number {
  for (let at = text.length - 1; at >= from; at--) {
    const code = text.charCodeAt(at)
    if (BREAKS.has(code)) return at + 1
    // The character after a space must be known, unless the one before it is enough.
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
