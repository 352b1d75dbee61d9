import { runToCompletion } from '../../../model/steps.ts'
import { CandidateWalk, STEP } from './candidates.ts'
import { findFolded, merged } from './folded-search.ts'
import { foldingsOf, isPlain } from './folded-text.ts'
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
  const findings = yield* findSteps(text, recognizers, effort)
  if (findings.length === 0) return { text, found: [] }
  const { out } = replaced(text, 0, text.length, findings)
  return { text: out, found: [...new Set(findings.map(({ name }) => name))] }
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

/**
 * Finds the ranges of a text that would be masked, in all its readings. What is before `from` is
 * context: nothing is found that begins there.
 */
export function* findSteps(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort,
  from = 0,
): Generator<void, readonly Finding[]> {
  const search = (own: string, begin: number) => findExact(own, begin, recognizers, effort)
  const findings = yield* search(text, from)
  return merged(findings, yield* findFolded(text, from, search))
}

/** The same in the text as it is. */
function* findExact(
  text: string,
  from: number,
  recognizers: readonly Recognizer[],
  effort: Effort,
): Generator<void, readonly Finding[]> {
  // In a long text, the walk advances with the search and ends where the search does.
  const known: Known = text.length > STEP ? { walk: new CandidateWalk(text) } : {}
  const findings: Finding[] = []
  yield* maskUntil(text, from, text.length, {
    ...{ recognizers, effort, found: new Set<string>(), known, findings },
  })
  return findings
}

/** Replaces the findings between two positions; `end` is the position after all of them. */
function replaced(
  text: string,
  from: number,
  limit: number,
  findings: readonly Finding[],
): { readonly out: string; readonly end: number } {
  const parts: string[] = []
  let at = from
  for (const { start, end, mask } of findings) {
    if (end <= at || start >= limit) continue
    parts.push(text.slice(at, Math.max(at, start)), mask)
    at = end
  }
  const end = Math.max(at, limit)
  parts.push(text.slice(at, end))
  return { out: parts.join(''), end }
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
    return this.#release(Math.max(settledIn(this.#text, this.#reach, this.#hasBreaks), this.#from))
  }

  end(): string {
    return this.#release(this.#text.length)
  }

  /** Settles findings that begin before `limit` and releases everything before it. */
  #release(limit: number): string {
    const { out, end } = isPlain(this.#text) ? this.#exact(limit) : this.#folded(limit)
    const kept = Math.max(0, end - CONTEXT * FOLDED_REACH)
    this.#text = this.#text.slice(kept)
    this.#from = end - kept
    return out
  }

  #exact(limit: number) {
    const effort = this.#effort ?? searchEffort()
    const search = { recognizers: this.#recognizers, effort, found: this.#found }
    return runToCompletion(maskUntil(this.#text, this.#from, limit, search))
  }

  #folded(limit: number) {
    const effort = this.#effort ?? searchEffort()
    const all = runToCompletion(findSteps(this.#text, this.#recognizers, effort, this.#from))
    const own = all.filter(({ start }) => start < limit)
    for (const { name } of own) this.#found.add(name)
    return replaced(this.#text, this.#from, limit, own)
  }
}

/** Invisible characters make a finding longer: so many times its length is held back for it. */
export const FOLDED_REACH = 8

/**
 * Returns the position up to which no later text can change what is found: in no reading of the
 * text does a finding that has begun before it go on at its end.
 */
export function settledIn(text: string, reach: number, hasBreaks: boolean): number {
  const of = (own: string) => {
    const reached = Math.max(0, own.length - reach)
    return hasBreaks ? lastBreak(own, reached) : reached
  }
  let settled = of(text)
  for (const folded of foldingsOf(text)) {
    const own = of(folded.text)
    settled = Math.min(settled, own === 0 ? 0 : folded.endOf(own - 1))
  }
  return Math.max(settled, text.length - FOLDED_REACH * reach, 0)
}

/**
 * Returns the position after the last character that no finding crosses: punctuation that none
 * contains, or a space next to a lowercase letter. Returns `from` if there is none after it.
 */
function lastBreak(text: string, from: number): number {
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
