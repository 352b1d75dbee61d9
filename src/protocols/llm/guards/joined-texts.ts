import { isPlain } from './folded-text.ts'
import type { GuardRule } from './guard-rule.ts'
import { noteFound } from './guard-text.ts'
import { CONTEXT, type Finding, FOLDED_REACH, findSteps } from './masker.ts'
import type { Effort } from './recognizers.ts'

/*
 * A model reads the parts of a message as one text, so a match may begin in one part and end in
 * another. Each part is searched separately elsewhere; this searches only across their borders.
 */

interface Joined {
  readonly texts: readonly string[]
  readonly isFound: boolean
}

/** Masks findings that cross borders, in the first of the texts that they are in. */
export function* maskBorders(
  texts: readonly string[],
  rule: GuardRule,
  effort: Effort,
): Generator<void, Joined> {
  const joined = texts.join('')
  const borders = bordersOf(texts, joined.length)
  const longest = Math.max(0, ...rule.recognizers.map(({ maxLength }) => maxLength))
  const crossing: Finding[] = []
  const reach = (longest + 2 * CONTEXT) * (isPlain(joined) ? 1 : FOLDED_REACH)
  for (const { start, end } of around(borders, reach, joined.length)) {
    const found = yield* findSteps(joined.slice(start, end), rule.recognizers, effort)
    for (const one of found) {
      const finding = { ...one, start: start + one.start, end: start + one.end }
      if (isAcross(finding, borders)) crossing.push(finding)
    }
  }
  if (crossing.length === 0) return { texts, isFound: false }
  noteFound(rule, crossing.length)
  return { texts: masked(texts, crossing), isFound: true }
}

/** Where one text ends and the next begins. */
function bordersOf(texts: readonly string[], length: number): readonly number[] {
  const borders = new Set<number>()
  let at = 0
  for (const text of texts) {
    at += text.length
    if (at > 0 && at < length) borders.add(at)
  }
  return [...borders]
}

/** Yields the ranges within `reach` of a border. */
function* around(borders: readonly number[], reach: number, length: number) {
  let start = 0
  let end = -1
  for (const border of borders) {
    if (border - reach > end) {
      if (end >= 0) yield { start, end }
      start = Math.max(0, border - reach)
    }
    end = Math.min(length, border + reach)
  }
  if (end >= 0) yield { start, end }
}

/** Borders are in ascending order. */
function isAcross({ start, end }: Finding, borders: readonly number[]): boolean {
  let low = 0
  let high = borders.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((borders[middle] as number) <= start) low = middle + 1
    else high = middle
  }
  return low < borders.length && (borders[low] as number) < end
}

/** `findings` are in order and do not overlap. */
function masked(texts: readonly string[], findings: readonly Finding[]): readonly string[] {
  const out: string[] = []
  let begin = 0
  let next = 0
  for (const text of texts) {
    const end = begin + text.length
    let own = ''
    let at = begin
    for (let finding = findings[next]; finding !== undefined && finding.start < end; ) {
      if (finding.start >= begin)
        own += text.slice(at - begin, finding.start - begin) + finding.mask
      at = Math.min(end, finding.end)
      if (finding.end > end) break
      finding = findings[++next]
    }
    out.push(own + text.slice(at - begin))
    begin = end
  }
  return out
}
