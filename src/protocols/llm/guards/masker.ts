import type { Finding, Recognizer } from './recognizers.ts'

/** How many letters before and after itself a finding depends on. */
const CONTEXT = 2

/** The first finding of any of them; of several at one place the longest. */
function findFirst(
  text: string,
  from: number,
  recognizers: readonly Recognizer[],
): Finding | undefined {
  let first: Finding | undefined
  for (const recognizer of recognizers) {
    const found = recognizer.find(text, from)
    if (found === undefined) continue
    const isBetter =
      first === undefined ||
      found.start < first.start ||
      (found.start === first.start && found.end > first.end)
    if (isBetter) first = { ...found, recognizer }
  }
  return first
}

export interface MaskedText {
  readonly text: string
  /** Names of the recognizers that found something. */
  readonly found: readonly string[]
}

export function maskText(text: string, recognizers: readonly Recognizer[]): MaskedText {
  const masker = new StreamMasker(recognizers)
  const masked = masker.push(text) + masker.end()
  return { text: masked, found: masker.found }
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
  /** What has not been let go, and before it the context that has. */
  #text = ''
  #from = 0

  constructor(recognizers: readonly Recognizer[]) {
    this.#recognizers = recognizers
    this.#hasBreaks = recognizers.every(({ crossesBreaks }) => crossesBreaks !== true)
    this.#reach = Math.max(0, ...recognizers.map(({ maxLength }) => maxLength)) + CONTEXT
  }

  get found(): readonly string[] {
    return [...this.#found]
  }

  push(piece: string): string {
    if (this.#recognizers.length === 0) return piece
    this.#text += piece
    const broken = this.#hasBreaks ? lastBreak(this.#text) : 0
    const settled = Math.max(this.#text.length - this.#reach, broken)
    return this.#release(Math.max(settled, this.#from))
  }

  end(): string {
    return this.#release(this.#text.length)
  }

  /** Findings that begin before `limit` are settled; all before it is let go. */
  #release(limit: number): string {
    let out = ''
    while (this.#from < limit) {
      const finding = findFirst(this.#text, this.#from, this.#recognizers)
      if (finding === undefined || finding.start >= limit) {
        out += this.#text.slice(this.#from, limit)
        this.#from = limit
        break
      }
      out += this.#text.slice(this.#from, finding.start) + finding.recognizer.mask
      this.#found.add(finding.recognizer.name)
      this.#from = finding.end
    }
    const kept = Math.max(0, this.#from - CONTEXT)
    this.#text = this.#text.slice(kept)
    this.#from -= kept
    return out
  }
}

/**
 * Behind the last letter that no finding goes over: punctuation that none has, or a space beside a
 * small letter. 0: there is none.
 */
function lastBreak(text: string): number {
  for (let at = text.length - 1; at >= 0; at--) {
    const code = text.charCodeAt(at)
    if (BREAKS.has(code)) return at + 1
    // What follows a space must be known, unless what stands before it is enough.
    if (code === 32 && (isSmall(text.charCodeAt(at - 1)) || isSmall(text.charCodeAt(at + 1)))) {
      return at + 1
    }
  }
  return 0
}

const BREAKS: ReadonlySet<number> = new Set([...',;!?"<>{}\n\r\t'].map((it) => it.charCodeAt(0)))

function isSmall(code: number): boolean {
  return code >= 97 && code <= 122
}
