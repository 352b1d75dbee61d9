import { candidateSteps } from './candidates.ts'
import type { Effort, Finding, Known, Recognizer } from './recognizers.ts'

/** How many letters before and after itself a finding depends on. */
const CONTEXT = 2
/**
 * Some five milliseconds: what cannot be searched within is taken for a finding. Some thousands of
 * findings, or ten times as many places where one may begin. Words and tables of numbers have none
 * of those (./candidates.ts).
 */
const MAX_EFFORT = 1 << 17

/** Of all texts of one request. */
export function searchEffort(): Effort {
  return { left: MAX_EFFORT }
}

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

  constructor(text: string, recognizers: readonly Recognizer[], effort: Effort, known: Known) {
    this.#known = known
    this.#text = text
    this.#recognizers = recognizers
    this.#effort = effort
  }

  /** The first one at or after `from`, which never goes back; of several at one place the longest. */
  first(from: number): Finding | undefined {
    let first: Finding | undefined
    for (const [index, recognizer] of this.#recognizers.entries()) {
      let found = this.#found[index]
      if (found === undefined || (found !== null && found.start < from)) {
        const next = recognizer.find(this.#text, from, this.#effort, this.#known)
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
}

export interface MaskedText {
  readonly text: string
  /** Names of the recognizers that found something. */
  readonly found: readonly string[]
}

export function maskText(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort = searchEffort(),
  known: Known = {},
): MaskedText {
  const found = new Set<string>()
  const { out } = maskUntil(text, 0, text.length, { recognizers, effort, found, known })
  return { text: out, found: [...found] }
}

/**
 * The same in steps, between which others may have their turn. The walk over the text is what grows
 * with its length; what comes after it is limited by the effort.
 */
export function* maskSteps(
  text: string,
  recognizers: readonly Recognizer[],
  effort: Effort,
): Generator<void, MaskedText> {
  const candidates = yield* candidateSteps(text)
  return maskText(text, recognizers, effort, { candidates })
}

interface Search {
  readonly recognizers: readonly Recognizer[]
  readonly effort: Effort
  readonly found: Set<string>
  readonly known?: Known
}

/** With the findings that begin from `from` on and before `limit` masked; `end`: behind all that. */
function maskUntil(
  text: string,
  from: number,
  limit: number,
  { recognizers, effort, found, known = {} }: Search,
): { readonly out: string; readonly end: number } {
  const findings = new Findings(text, recognizers, effort, known)
  let out = ''
  let at = from
  while (at < limit) {
    const finding = findings.first(at)
    if (finding === undefined || finding.start >= limit) {
      out += text.slice(at, limit)
      at = limit
      break
    }
    out += text.slice(at, finding.start) + finding.recognizer.mask
    found.add(finding.recognizer.name)
    at = finding.end
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
    const { out, end } = maskUntil(this.#text, this.#from, limit, search)
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
