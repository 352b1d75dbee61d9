import { runToCompletion } from '../../../model/steps.ts'
import { candidateTables } from './candidate-table.ts'
import { type Candidates, CandidateWalk, indexFrom, isWordOrHyphen, STEP } from './candidates.ts'

/** Finds text that must not be seen. */
export interface Recognizer {
  readonly name: string
  /** The replacement: `<EMAIL_ADDRESS>`. */
  readonly mask: string
  /** The max length of a finding, in UTF-16 units. Its decision depends on no more than this. */
  readonly maxLength: number
  /** It may match across any characters, so no text is released before `maxLength`. */
  readonly crossesBreaks?: boolean
  /** It searches where the walk found candidates (./candidates.ts), and nothing beyond the walk. */
  readonly needsWalk?: boolean
  /**
   * Returns the first finding at or after `from`. It may read the two characters before and after
   * it. `effort` is the remaining search effort; text that cannot be searched is a finding. `known`
   * is shared by recognizers that search the same text.
   */
  find(text: string, from: number, effort?: Effort, known?: Known): Span | undefined
  /** The same in steps, for a recognizer that takes long before it spends any effort. */
  findSteps?(text: string, from: number, effort: Effort): Generator<void, Span | undefined>
}

/** State of the search of one text. */
export interface Known {
  /** The walk, as far as it has advanced; if absent, all of the text is walked when needed. */
  walk?: CandidateWalk
}

function candidatesOf(text: string, known: Known | undefined): Candidates {
  if (known?.walk !== undefined) return known.walk
  const walk = new CandidateWalk(text)
  while (!walk.isOver) walk.goOn()
  if (known !== undefined) known.walk = walk
  return walk
}

/** The remaining cost of searches, in units of some 40 nanoseconds. */
export interface Effort {
  left: number
}

/**
 * Some five milliseconds: text that cannot be searched within this time is treated as a finding.
 * Enough for some thousands of findings, or ten times as many positions where one may begin. Words
 * and tables of numbers have none of those (./candidates.ts).
 */
const MAX_EFFORT = 1 << 17

/** The effort for all texts of one request. */
export function searchEffort(): Effort {
  return { left: MAX_EFFORT }
}

/** The cost of trying a pattern where it may begin. */
const TRY = 2
/** The cost of verifying a near match, which is also that of a finding. */
const CANDIDATE = 16

/** Returns undefined if enough effort is left for one more candidate, else the rest of the text. */
function outOf(
  effort: Effort | undefined,
  cost: number,
  text: string,
  from: number,
): Span | undefined {
  if (effort === undefined || (effort.left -= cost) >= 0) return undefined
  return { start: from, end: text.length }
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** Tried only at candidates (./candidates.ts): trying everywhere takes ten times as long. */
interface Definition {
  readonly name: string
  readonly mask: string
  readonly maxLength: number
  /** Returns the position after the match that begins at `at`, or -1 if there is none. */
  readonly endOf: (text: string, at: number) => number
  /** Returns the next position at or after `from` to try, or -1 if there is none. */
  readonly next: (candidates: Candidates, text: string, from: number) => number
  readonly isValid?: (text: string, start: number, end: number) => boolean
}

function define({ name, mask, maxLength, endOf, next, isValid }: Definition): Recognizer {
  return {
    name,
    mask,
    maxLength,
    needsWalk: true,
    find(text, from, effort, known) {
      const candidates = candidatesOf(text, known)
      for (let at = next(candidates, text, from); at >= 0; at = next(candidates, text, at + 1)) {
        const rest = outOf(effort, TRY, text, at)
        if (rest !== undefined) return rest
        const end = endOf(text, at)
        if (end < 0) continue
        const all = outOf(effort, CANDIDATE, text, at)
        if (all !== undefined) return all
        if (end - at <= maxLength && isValid?.(text, at, end) !== false) return { start: at, end }
      }
      return undefined
    },
  }
}

/** Matches a sticky pattern, which begins at the given position. */
function matching(pattern: RegExp): Definition['endOf'] {
  return (text, at) => {
    pattern.lastIndex = at
    return pattern.test(text) ? pattern.lastIndex : -1
  }
}

/** Takes positions from a list of candidates. */
function listed(kind: 'keys' | 'accounts' | 'socials' | 'insurances'): Definition['next'] {
  return ({ [kind]: list }, _, from) => list[indexFrom(list, from)] ?? -1
}

/** Returns the beginning of a group of digits in a chain. */
function inChain({ chains }: Candidates, text: string, from: number): number {
  for (let index = indexFrom(chains, from) & ~1; index < chains.length; index += 2) {
    const end = chains[index + 1] as number
    for (let at = Math.max(from, chains[index] as number); at < end; at++) {
      if (isDigit(text.charCodeAt(at)) && !isDigit(text.charCodeAt(at - 1))) return at
    }
  }
  return -1
}

/** `+44 (0000) 0000-`: the longest text before the last digits of a telephone number. */
const BEFORE_LAST = 17

function beforeLast({ phoneEnds }: Candidates, text: string, from: number): number {
  for (let index = indexFrom(phoneEnds, from + 1); index < phoneEnds.length; index++) {
    const end = phoneEnds[index] as number
    for (let at = Math.max(from, end - BEFORE_LAST); at < end; at++) {
      const code = text.charCodeAt(at)
      if (code === PLUS || code === PARENTHESIS) return at
      if (isDigit(code) && !isDigit(text.charCodeAt(at - 1))) return at
    }
  }
  return -1
}

const [PLUS, PARENTHESIS, SPACE, HYPHEN] = [43, 40, 32, 45] as const

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/*
 * Repetitions are bounded, and each pattern checks what precedes and follows it, so the cost of a
 * search is proportional to the text whatever it contains. No pattern contains a space next to a
 * lowercase letter, or any of `,;!?"<>{}` or a line end: a stream can be cut there (./masker.ts).
 */

/** Sixteen digits with four spaces between groups. */
const MAX_GROUPED = 28

export const RECOGNIZERS: readonly Recognizer[] = [
  { name: 'email', mask: '<EMAIL_ADDRESS>', maxLength: 200, find: findEmail },
  define({
    name: 'apiKey',
    mask: '<API_KEY>',
    maxLength: 200,
    // A key that is too long is masked as far as it is read: better than not at all.
    endOf: matching(
      /(?<![\w-])(?:sk-[\w-]{20,180}|gh[pousr]_[a-zA-Z0-9]{36,100}|github_pat_\w{22,100}|xox[abprs]-[\w-]{10,100}|glpat-[\w-]{20,40}|hf_[a-zA-Z0-9]{30,40}|(?:AKIA[0-9A-Z]{16}|AIza[\w-]{35})(?![\w-]))/y,
    ),
    next: listed('keys'),
  }),
  define({
    name: 'iban',
    mask: '<IBAN>',
    maxLength: 42,
    endOf: matching(/(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)/y),
    next: listed('accounts'),
    isValid: isIban,
  }),
  define({
    name: 'creditCard',
    mask: '<CREDIT_CARD>',
    maxLength: 37,
    endOf: cardEnd,
    next: inChain,
    isValid: isCard,
  }),
  {
    name: 'creditCard',
    mask: '<CREDIT_CARD>',
    maxLength: MAX_GROUPED,
    find: (text, from, effort = searchEffort()) =>
      runToCompletion(findGroupedCard(text, from, effort)),
    findSteps: findGroupedCard,
  },
  define({
    name: 'ssn',
    mask: '<SSN>',
    maxLength: 11,
    endOf: matching(/(?<![\w-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])/y),
    next: listed('socials'),
  }),
  define({
    name: 'caSin',
    mask: '<CA_SIN>',
    maxLength: 11,
    endOf: matching(/(?<![\w-])[1-79]\d{2}([- ])\d{3}\1\d{3}(?![\w-])/y),
    next: listed('insurances'),
    isValid: passesLuhn,
  }),
  define({
    name: 'phoneNumber',
    mask: '<PHONE_NUMBER>',
    maxLength: 24,
    endOf: matching(
      /(?<![\w.+-])(?<!\d )(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)|\d{2,4})[ .-]?\d{3,4}[ .-]\d{3,4}(?![\w-]|[ .]\d)/y,
    ),
    next: beforeLast,
    isValid: (text, start, end) => {
      const digits = digitsIn(text, start, end)
      return digits >= (text.charCodeAt(start) === PLUS ? 9 : 10) && digits <= 15
    },
  }),
]

/** Returns the recognizers of a configured guard. */
export function recognizersOf(name: string): readonly Recognizer[] {
  const found = RECOGNIZERS.filter((recognizer) => recognizer.name === name)
  // Build the tables now, so that the first request does not wait for them.
  if (found.some(({ needsWalk }) => needsWalk)) candidateTables()
  return found
}

/** Card numbers in their printed groups, with what a chain of digits does not have in between. */
// Written out, V8 skips text without digits ten times as fast.
const GROUPED_CARD =
  /[0-9][0-9][0-9][0-9]([./_]| {2,4})[0-9][0-9][0-9][0-9](?:\1[0-9]{4}\1[0-9]{4}|[0-9]{2}\1[0-9]{5})(?![\w-]|\.[0-9])/g

function* findGroupedCard(
  text: string,
  from: number,
  effort: Effort,
): Generator<void, Span | undefined> {
  for (let begin = from; begin < text.length; begin += STEP) {
    if (begin > from) yield
    // A number that begins in this part may end in the next.
    const part = text.slice(Math.max(0, begin - 2), begin + STEP + MAX_GROUPED)
    const shift = Math.max(0, begin - 2)
    GROUPED_CARD.lastIndex = begin - shift
    for (let found = GROUPED_CARD.exec(part); found !== null; found = GROUPED_CARD.exec(part)) {
      const start = shift + found.index
      const before = text[start - 1] ?? ''
      if (/[\w.-]/.test(before)) continue
      const rest = outOf(effort, CANDIDATE, text, start)
      if (rest !== undefined) return rest
      const end = start + found[0].length
      if (isCard(text, start, end)) return { start, end }
    }
  }
  return undefined
}

const DOMAIN = /(?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,12}(?![\w-])/iy
const MAX_LOCAL = 64

/** Searches around each `@`, which few texts have: trying each word takes ten times as long. */
function findEmail(text: string, from: number, effort?: Effort): Span | undefined {
  for (let at = text.indexOf('@', from); at >= 0; at = text.indexOf('@', at + 1)) {
    const rest = outOf(effort, CANDIDATE, text, Math.max(from, at - MAX_LOCAL))
    if (rest !== undefined) return rest
    let start = at
    while (start > 0 && at - start <= MAX_LOCAL && isLocal(text.charCodeAt(start - 1))) start--
    if (start === at || at - start > MAX_LOCAL || start < from) continue
    DOMAIN.lastIndex = at + 1
    if (DOMAIN.test(text)) return { start, end: DOMAIN.lastIndex }
  }
  return undefined
}

/** `[\w.%+-]` */
function isLocal(code: number): boolean {
  return isWordOrHyphen(code) || code === 46 || code === 37 || code === PLUS
}

/**
 * Returns the end of the longest match of `(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])`. A text of
 * digits has one wherever it is tried, and V8 takes four times as long.
 */
function cardEnd(text: string, start: number): number {
  if (start > 0 && isWordOrHyphen(text.charCodeAt(start - 1))) return -1
  let end = -1
  let at = start
  for (let digits = 1; digits <= 19 && isDigit(text.charCodeAt(at)); digits++) {
    const next = text.charCodeAt(++at)
    if (digits >= 13 && !isWordOrHyphen(next)) end = at
    if (next === SPACE || next === HYPHEN) at++
  }
  return end
}

/** True if not all digits are the same and the Luhn checksum is valid. */
function isCard(text: string, start: number, end: number): boolean {
  const last = text.charCodeAt(end - 1)
  for (let at = start; at < end; at++) {
    const code = text.charCodeAt(at)
    if (isDigit(code) && code !== last) return passesLuhn(text, start, end)
  }
  return false
}

/** Checks the digits among these characters, from the last. */
function passesLuhn(text: string, start: number, end: number): boolean {
  let digits = 0
  let sum = 0
  for (let at = end - 1; at >= start; at--) {
    const code = text.charCodeAt(at)
    if (!isDigit(code)) continue
    const value = digits++ % 2 === 0 ? code - 48 : 2 * (code - 48)
    sum += value > 9 ? value - 9 : value
  }
  return sum % 10 === 0
}

function digitsIn(text: string, start: number, end: number): number {
  let digits = 0
  for (let at = start; at < end; at++) if (isDigit(text.charCodeAt(at))) digits++
  return digits
}

/** ISO 13616: the first four characters move to the end, letters become numbers, modulo 97 is 1. */
function isIban(text: string, start: number, end: number): boolean {
  const found = text.slice(start, end)
  let length = 0
  let rest = 0
  // The index wraps around, but only for the four characters that move to the end.
  for (let at = 4; at < found.length + 4; at++) {
    const code = found.charCodeAt(at % found.length)
    if (code === 32) continue
    length++
    rest = (code > 57 ? rest * 100 + code - 55 : rest * 10 + code - 48) % 97
  }
  return length >= 15 && length <= 34 && rest === 1
}
