import { type Candidates, candidatesIn, indexFrom } from './candidates.ts'

/** Something in a text that must not be seen. */
export interface Recognizer {
  readonly name: string
  /** What stands in its place: `<EMAIL_ADDRESS>`. */
  readonly mask: string
  /** The longest that it finds, in UTF-16 units. What it decides depends on no more than this. */
  readonly maxLength: number
  /** It may find what spans any letters, so that no text is let go before `maxLength`. */
  readonly crossesBreaks?: boolean
  /**
   * The first finding at or after `from`. It may look at the two letters before and after it.
   * `effort` is what is left to search with; what cannot be searched is a finding. `known` is what
   * recognizers share that search the same text.
   */
  find(text: string, from: number, effort?: Effort, known?: Known): Span | undefined
  /** The same in steps, of one that takes long before it has spent any effort. */
  findSteps?(text: string, from: number, effort: Effort): Generator<void, Span | undefined>
}

/** Of one text. */
export interface Known {
  candidates?: Candidates
}

function candidatesOf(text: string, known: Known | undefined): Candidates {
  const found = known?.candidates ?? candidatesIn(text)
  if (known !== undefined) known.candidates = found
  return found
}

/** What searches may still cost, in some 40 nanoseconds each. */
export interface Effort {
  left: number
}

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

/** To try a pattern where it may begin. */
const TRY = 2
/** What is nearly a finding costs as much to be sure of, and so does a finding. */
const CANDIDATE = 16

/** Undefined: there is enough left to look at one more. */
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

/** Tried where the text may have it (./candidates.ts): to try everywhere takes ten times as long. */
interface Definition {
  readonly name: string
  readonly mask: string
  readonly maxLength: number
  /** Sticky: it begins where it is tried. */
  readonly pattern: RegExp
  /** The next place at or after `from` to try; -1: there is none. */
  readonly next: (candidates: Candidates, text: string, from: number) => number
  readonly isValid?: (found: string) => boolean
}

function define({ name, mask, maxLength, pattern, next, isValid }: Definition): Recognizer {
  return {
    name,
    mask,
    maxLength,
    find(text, from, effort, known) {
      const candidates = candidatesOf(text, known)
      for (let at = next(candidates, text, from); at >= 0; at = next(candidates, text, at + 1)) {
        const rest = outOf(effort, TRY, text, at)
        if (rest !== undefined) return rest
        pattern.lastIndex = at
        const found = pattern.exec(text)?.[0]
        if (found === undefined) continue
        const end = outOf(effort, CANDIDATE, text, at)
        if (end !== undefined) return end
        if (found.length <= maxLength && isValid?.(found) !== false) {
          return { start: at, end: at + found.length }
        }
      }
      return undefined
    },
  }
}

/** One of a list of places. */
function listed(kind: 'keys' | 'accounts' | 'socials' | 'insurances'): Definition['next'] {
  return ({ [kind]: list }, _, from) => list[indexFrom(list, from)] ?? -1
}

/** The beginning of a group of digits in a chain of them. */
function inChain({ chains }: Candidates, text: string, from: number): number {
  for (let index = indexFrom(chains, from) & ~1; index < chains.length; index += 2) {
    const end = chains[index + 1] as number
    for (let at = Math.max(from, chains[index] as number); at < end; at++) {
      if (isDigit(text.charCodeAt(at)) && !isDigit(text.charCodeAt(at - 1))) return at
    }
  }
  return -1
}

/** `+44 (0000) 0000-`: the longest that stands before the last digits of a telephone number. */
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

const [PLUS, PARENTHESIS] = [43, 40] as const

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/*
 * Repetitions are bounded, and bounds stand before and after each pattern, so that the cost of a
 * search is in proportion to the text whatever is in it. No pattern has a space beside a small
 * letter, and none of `,;!?"<>{}` or a line end: there a stream can be cut (./masker.ts).
 */

export const RECOGNIZERS: readonly Recognizer[] = [
  { name: 'email', mask: '<EMAIL_ADDRESS>', maxLength: 200, find: findEmail },
  define({
    name: 'apiKey',
    mask: '<API_KEY>',
    maxLength: 200,
    // A key that is too long is masked as far as it is looked at: better than not at all.
    pattern:
      /(?<![\w-])(?:sk-[\w-]{20,180}|gh[pousr]_[a-zA-Z0-9]{36,100}|github_pat_\w{22,100}|xox[abprs]-[\w-]{10,100}|glpat-[\w-]{20,40}|hf_[a-zA-Z0-9]{30,40}|(?:AKIA[0-9A-Z]{16}|AIza[\w-]{35})(?![\w-]))/y,
    next: listed('keys'),
  }),
  define({
    name: 'iban',
    mask: '<IBAN>',
    maxLength: 42,
    pattern: /(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)/y,
    next: listed('accounts'),
    isValid: isIban,
  }),
  define({
    name: 'creditCard',
    mask: '<CREDIT_CARD>',
    maxLength: 37,
    pattern: /(?<![\w-])(?:\d[ -]?){12,18}\d(?![\w-])/y,
    next: inChain,
    isValid: isCard,
  }),
  define({
    name: 'ssn',
    mask: '<SSN>',
    maxLength: 11,
    pattern: /(?<![\w-])(?!000|666|9)\d{3}([- ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])/y,
    next: listed('socials'),
  }),
  define({
    name: 'caSin',
    mask: '<CA_SIN>',
    maxLength: 11,
    pattern: /(?<![\w-])[1-79]\d{2}([- ])\d{3}\1\d{3}(?![\w-])/y,
    next: listed('insurances'),
    isValid: (found) => passesLuhn(found.replace(/\D/g, '')),
  }),
  define({
    name: 'phoneNumber',
    mask: '<PHONE_NUMBER>',
    maxLength: 24,
    pattern:
      /(?<![\w.+-])(?<!\d )(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)|\d{2,4})[ .-]?\d{3,4}[ .-]\d{3,4}(?![\w-]|[ .]\d)/y,
    next: beforeLast,
    isValid: (found) => {
      const { length } = found.replace(/\D/g, '')
      return length >= (found.startsWith('+') ? 9 : 10) && length <= 15
    },
  }),
]

export function recognizerOf(name: string): Recognizer | undefined {
  return RECOGNIZERS.find((recognizer) => recognizer.name === name)
}

const DOMAIN = /(?:[a-z0-9-]{1,40}\.){1,3}[a-z]{2,12}(?![\w-])/iy
const MAX_LOCAL = 64

/** Around each `@`, which few texts have: to try each word takes ten times as long. */
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
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    (code >= 48 && code <= 57) ||
    code === 95 ||
    code === 46 ||
    code === 37 ||
    code === 43 ||
    code === 45
  )
}

/** Of digits and what stands between them, from the last: which are there, and Luhn's sum. */
function isCard(found: string): boolean {
  let digits = 0
  let sum = 0
  const last = found.charCodeAt(found.length - 1)
  let isUniform = true
  for (let at = found.length - 1; at >= 0; at--) {
    const code = found.charCodeAt(at)
    if (code < 48) continue
    if (code !== last) isUniform = false
    const value = digits++ % 2 === 0 ? code - 48 : 2 * (code - 48)
    sum += value > 9 ? value - 9 : value
  }
  return digits >= 13 && !isUniform && sum % 10 === 0
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = digits.charCodeAt(digits.length - 1 - at) - 48
    const doubled = at % 2 === 0 ? digit : digit * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** ISO 13616: the first four letters go to the end, letters become numbers, and the rest is 1. */
function isIban(found: string): boolean {
  let length = 0
  let rest = 0
  // Twice over: the second time only the four that go to the end.
  for (let at = 4; at < found.length + 4; at++) {
    const code = found.charCodeAt(at % found.length)
    if (code === 32) continue
    length++
    rest = (code > 57 ? rest * 100 + code - 55 : rest * 10 + code - 48) % 97
  }
  return length >= 15 && length <= 34 && rest === 1
}
