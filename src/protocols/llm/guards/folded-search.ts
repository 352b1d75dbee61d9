import { foldingsOf, isPlain } from './folded-text.ts'
import type { Finding } from './masker.ts'

/** Characters that are folded in one step; copies of a long text never exist as a whole. */
const SLICE = 1 << 14
/** Plain characters that are skipped in one step. */
const PLAIN = 1 << 20
/** How far around a slice it is read: a finding may begin or end there. */
const AROUND = 2048

/** What begins before `from` is not found. */
type Search = (text: string, from: number) => Generator<void, readonly Finding[]>

/**
 * Searches all other readings of a text from a position, and returns where in the text the findings
 * are.
 */
export function* findFolded(
  text: string,
  after: number,
  search: Search,
): Generator<void, readonly Finding[]> {
  if (text.length <= SLICE && isPlain(text)) return NONE
  const found: Finding[] = []
  for (let from = 0; from < text.length; from += SLICE) {
    if (from > 0) yield
    // A plain text, as most are, has no other reading.
    while (from < text.length && isPlain(text.slice(Math.max(0, from - AROUND), from + PLAIN))) {
      from += PLAIN
      if (from < text.length) yield
    }
    const begin = Math.max(0, from - AROUND)
    const slice = text.slice(begin, from + SLICE + AROUND)
    if (isPlain(slice)) continue
    for (const folded of foldingsOf(slice)) {
      let first = 0
      while (first < folded.text.length && begin + folded.startOf(first) < after) first++
      for (const one of yield* search(folded.text, first)) {
        const start = begin + folded.startOf(one.start)
        const end = begin + folded.endOf(one.end - 1)
        if (start < from + SLICE && end > from) found.push({ ...one, start, end })
      }
    }
  }
  return found
}

const NONE: readonly Finding[] = []

/** All findings in order; those that overlap become one. `further` are in any order. */
export function merged(
  findings: readonly Finding[],
  further: readonly Finding[],
): readonly Finding[] {
  if (further.length === 0) return findings
  const all = [...findings, ...further].sort((a, b) => a.start - b.start || b.end - a.end)
  const out: Finding[] = []
  for (const one of all) {
    const last = out.at(-1)
    if (last === undefined || one.start >= last.end) out.push(one)
    else if (one.end > last.end) out[out.length - 1] = { ...last, end: one.end }
  }
  return out
}
