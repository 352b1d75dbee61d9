import { writeNarrow } from '../../narrow-text.ts'
import {
  ACCOUNT,
  CHAIN,
  CHAIN_END,
  CHAIN_END_BEFORE,
  COLUMN_OF,
  candidateTables,
  INSURANCE,
  KEY,
  OUTSIDE,
  PAIR,
  PHONE,
  PHONE_BEFORE,
  ROW,
  SOCIAL,
} from './candidate-table.ts'

/**
 * Where recognizers have to search a text: one walk for all of them, which takes two nanoseconds
 * per character. Each list has every position where a finding of its kind can begin, and few
 * others, so a long text of words, or a table of numbers, costs little more than the walk.
 */
export interface Candidates {
  /** Where the prefix of a key begins. */
  readonly keys: readonly number[]
  /** Where two capital letters followed by two digits begin. */
  readonly accounts: readonly number[]
  /** Where digits grouped as 3-2-4 and 3-3-3 begin. */
  readonly socials: readonly number[]
  readonly insurances: readonly number[]
  /** Start and end of each chain of digits that may be a card number, as consecutive pairs. */
  readonly chains: readonly number[]
  /** Where the last group of digits of a telephone number begins. */
  readonly phoneEnds: readonly number[]
}

/** Digits, and characters of key prefixes that are rare in words: every finding has one. */
const DIGIT_OR_MARK = /[0-9A_-]/g
/** The max distance from the start of a finding to the first of those: `github_`. */
const BEFORE_MARK = 8
/** Characters between checks for a skippable range, and the min length worth skipping. */
const BLOCK = 256
const WORTH_SKIPPING = 64

/** Characters per step: some tenths of a millisecond. */
export const STEP = 1 << 16
/** Characters per array: a longer one would be walked before the walk itself is compiled. */
const SLICE = 1 << 12
/** How far the walk reads around a character: a chain that has just become long enough. */
const AROUND = 32
/** Anything that begins this far before the walk is known: a telephone number, digit groups. */
const SETTLED = 64
/**
 * The characters of a slice and those around it. Zeros fill positions outside the text and those of
 * characters wider than a byte, which no automaton needs: reading them here takes half as long as
 * reading each from the string. Shared by all texts, since the walk of a slice is never
 * interrupted.
 */
const LETTERS = new Uint8Array(SLICE + 2 * AROUND)
const BYTES = Buffer.from(LETTERS.buffer)
/** The same in pairs. */
const LETTER_PAIRS = new Uint16Array(LETTERS.buffer)

const [HYPHEN, UNDERSCORE] = [45, 95] as const

/** A resumable walk; the candidates found so far can be read at any time. */
export class CandidateWalk implements Candidates {
  readonly keys: number[] = []
  readonly accounts: number[] = []
  readonly socials: number[] = []
  readonly insurances: number[] = []
  readonly chains: number[] = []
  readonly phoneEnds: number[] = []
  readonly #text: string
  #at = 0
  #isOver = false
  #findings = OUTSIDE
  #chain = OUTSIDE
  /** The start of a chain that is long enough; -1 if there is none. */
  #chainStart = -1

  constructor(text: string) {
    this.#text = text
  }

  /** Candidates before this position are known. */
  get until(): number {
    return this.#isOver ? this.#text.length : Math.max(0, this.#at - SETTLED)
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** Advances the walk by up to `letters` characters. */
  goOn(letters = STEP): void {
    const text = this.#text
    const limit = Math.min(text.length, this.#at + letters)
    while (this.#at < limit) this.#slice(limit)
    if (this.#chainStart >= 0 && this.#at > this.#chainStart) {
      // The part read so far can be searched.
      this.chains.push(this.#chainStart, this.#at)
      this.#chainStart = this.#at
    }
    if (this.#at < text.length || this.#isOver) return
    // The end of the text is treated like the end of a word.
    load(text, this.#at, 0)
    this.#single(AROUND, this.#at - AROUND)
    this.#isOver = true
  }

  #slice(limit: number): void {
    const { findings, chains, columnOfPair, inWord } = candidateTables()
    const text = this.#text
    const from = this.#at
    const length = Math.min(SLICE, limit - from)
    load(text, from, length)
    const behind = AROUND + length
    // The offset from positions in the array to positions in the text.
    const shift = from - AROUND
    let at = AROUND
    while (at < behind) {
      if (this.#chain === OUTSIDE && (this.#findings === OUTSIDE || this.#findings === inWord)) {
        const next = nextPlace(text, at + shift, limit) - shift - BEFORE_MARK
        if (next > at + WORTH_SKIPPING) {
          at = next
          this.#findings = isWordOrHyphen(text.charCodeAt(at + shift - 1)) ? inWord : OUTSIDE
          if (at >= behind) break
        }
      }
      for (const stop = Math.min(behind, at + BLOCK); at < stop; ) {
        const pair = at >> 1
        const end = at % 2 === 1 ? pair : stop >> 1
        REACHED[0] = this.#findings * PAIR
        REACHED[1] = this.#chain * PAIR
        const reached = walkPairs(findings.pairs, chains.pairs, columnOfPair, pair, end)
        if (reached > pair) {
          at = 2 * reached
          this.#findings = (REACHED[0] as number) / PAIR
          this.#chain = (REACHED[1] as number) / PAIR
          continue
        }
        // There is an event within the next two characters, or only one character is left.
        this.#single(at++, shift)
      }
    }
    this.#at = at + shift
  }

  #single(at: number, shift: number): void {
    const { findings, chains } = candidateTables()
    const column = COLUMN_OF[LETTERS[at] as number] as number
    const finding = findings.single[this.#findings + column] as number
    const chain = chains.single[this.#chain + column] as number
    if ((finding | chain) > ROW) this.#meet(finding | chain, at, shift)
    this.#findings = finding & ROW
    this.#chain = chain & ROW
  }

  /** `at` is the position of the character in the array. */
  #meet(met: number, at: number, shift: number): void {
    const place = at + shift
    if (met & KEY) {
      const start = keyStart(at)
      if (isLongEnough(start)) this.keys.push(start + shift)
    }
    if (met & ACCOUNT) this.accounts.push(place - 3)
    if (met & SOCIAL) this.socials.push(place - 11)
    if (met & INSURANCE) this.insurances.push(place - 11)
    if (met & PHONE) this.phoneEnds.push(lastDigits(at) + shift)
    if (met & PHONE_BEFORE) this.phoneEnds.push(lastDigits(at - 1) + shift)
    if (met & CHAIN) this.#chainStart = chainStart(at) + shift
    if (met & (CHAIN_END | CHAIN_END_BEFORE)) {
      const end = met & CHAIN_END ? place : place - 1
      if (end > this.#chainStart) this.chains.push(this.#chainStart, end)
      this.#chainStart = -1
    }
  }
}

/** The rows of both tables where a walk begins and where it ends. */
const REACHED = new Int32Array(2)

/**
 * Walks to the first pair of characters with an event, or to `stop`. A separate function that is
 * called often: V8 compiles it in its final form, while a loop that is already running would be
 * compiled for what it has seen so far.
 */
function walkPairs(
  findings: Int32Array,
  chains: Int32Array,
  columnOfPair: Uint16Array,
  from: number,
  stop: number,
): number {
  let finding = REACHED[0] as number
  let chain = REACHED[1] as number
  let pair = from
  for (; pair < stop; pair++) {
    const column = columnOfPair[LETTER_PAIRS[pair] as number] as number
    const nextFinding = findings[finding + column] as number
    const nextChain = chains[chain + column] as number
    if ((nextFinding | nextChain) > ROW) break
    finding = nextFinding
    chain = nextChain
  }
  REACHED[0] = finding
  REACHED[1] = chain
  return pair
}

/** Returns the next digit or mark at or after `from`, or `limit` if there is none before it. */
function nextPlace(text: string, from: number, limit: number): number {
  // Not beyond `limit`, where other requests may get their turn.
  const part = from === 0 && limit === text.length ? text : text.slice(from, limit)
  DIGIT_OR_MARK.lastIndex = 0
  return DIGIT_OR_MARK.test(part) ? from + DIGIT_OR_MARK.lastIndex - 1 : limit
}

function load(text: string, from: number, length: number): void {
  const start = Math.max(0, from - AROUND)
  const end = Math.min(text.length, from + length + AROUND)
  const offset = AROUND - (from - start)
  LETTERS.fill(0, 0, offset)
  writeNarrow(text.slice(start, end), BYTES, offset, '\0')
  LETTERS.fill(0, offset + end - start, length + 2 * AROUND)
}

/** Returns the start of a key prefix, given its last character: no word precedes it. */
function keyStart(last: number): number {
  let at = last
  while (at > 0 && isWordOrHyphen(LETTERS[at - 1] as number)) at--
  return at
}

/** True for at least as many characters as the shortest key has; the recognizer checks the rest. */
function isLongEnough(start: number): boolean {
  return (
    isWordOrHyphen(LETTERS[start + 6] as number) && isWordOrHyphen(LETTERS[start + 14] as number)
  )
}

/** Returns the start of three or four digits, given the position after them. */
function lastDigits(behind: number): number {
  return behind - (isDigit(LETTERS[behind - 4] as number) ? 4 : 3)
}

/** Returns the first digit of a chain, given its thirteenth. */
function chainStart(last: number): number {
  let at = last
  for (let digits = 1; digits < 13; digits++) {
    at--
    if (!isDigit(LETTERS[at] as number)) at--
  }
  return at
}

/** `[\w-]` */
export function isWordOrHyphen(code: number): boolean {
  return (
    (code >= 97 && code <= 122) ||
    (code >= 65 && code <= 90) ||
    isDigit(code) ||
    code === HYPHEN ||
    code === UNDERSCORE
  )
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

/** Returns the index of the first number that is at least `from`; the list is ascending. */
export function indexFrom(list: readonly number[], from: number): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle] as number) < from) low = middle + 1
    else high = middle
  }
  return low
}
