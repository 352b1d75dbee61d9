import { runToCompletion } from '../../../model/steps.ts'
import { CandidateWalk, STEP } from './candidates.ts'
import { type Effort, type Known, type Recognizer, type Span, searchEffort } from './recognizers.ts'

/** How many letters before and after itself a finding depends on. */
export const CONTEXT = 2

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
  // A walk that others have to wait for goes on with the search, and ends where that does.
  const known: Known = text.length > STEP ? { walk: new CandidateWalk(text) } : {}
  const found = new Set<string>()
  const { out } = yield* maskUntil(text, 0, text.length, { recognizers, effort, found, known })
  return { text: out, found: [...found] }
}

/** What is masked, and by what. */
export interface Finding extends Span {
  readonly name: string
  readonly mask: string
}

interface Search {
  readonly recognizers: readonly Recognizer[]
  readonly effort: Effort
  readonly found: Set<string>
  readonly known?: Known
  /** The findings in their order; absent: nobody wants to know where they are. */
  readonly findings?: Finding[]
}

/** Where a text would be masked. */
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

/** Findings of one step, and what is spent on what is none: a fifth of a millisecond each. */
const STEP_FINDINGS = 256
const STEP_EFFORT = 1 << 12

/**
 * With the findings that begin from `from` on and before `limit` masked; `end`: behind all that. Of
 * several at one place the longest counts. Each recognizer is asked again only behind what it found
 * last: if all of them were searched for at each finding, a text with many would cost its length
 * as many times.
 */
function* maskUntil(
  text: string,
  from: number,
  limit: number,
  { recognizers, effort, found, known = {}, findings: noted }: Search,
): Generator<void, { readonly out: string; readonly end: number }> {
  const count = recognizers.length
  /** What each found last, or that nothing is left. */
  const starts: number[] = new Array(count).fill(-1)
  const ends: number[] = new Array(count).fill(-1)
  /** Not more is known than that it finds nothing before its start. */
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
        // A text that others need not wait for is searched at once.
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

/** With a part of the effort at a time: whoever has spent that says where it stopped. */
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
export function lastBreak(text: string, from: number): number {
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
