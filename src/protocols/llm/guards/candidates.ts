/**
 * Where in a text recognizers have to look: one walk over it for all of them, in which a letter
 * costs a nanosecond or two. Each list has every place where a finding of its kind can begin, and
 * few others, so that a long text of words, or a table of numbers, costs little more than the walk.
 */
export interface Candidates {
  /** Where the prefix of a key begins. */
  readonly keys: readonly number[]
  /** Where two capital letters and two digits begin. */
  readonly accounts: readonly number[]
  /** Where digits begin that are grouped as 3-2-4 and 3-3-3. */
  readonly socials: readonly number[]
  readonly insurances: readonly number[]
  /** Start and end of each chain of digits that may be a card, one pair after the other. */
  readonly chains: readonly number[]
  /** Where the last group of digits of a telephone number begins. */
  readonly phoneEnds: readonly number[]
}

const DIGIT = 1
/** The first letter of a key. */
const KEY = 2
/** By UTF-16 unit, so that no unit is outside. */
const KINDS = new Uint8Array(0x1_0000)
for (const letter of 'sgxhA') KINDS[letter.charCodeAt(0)] = KEY
for (const digit of '0123456789') KINDS[digit.charCodeAt(0)] = DIGIT

const [SPACE, HYPHEN, DOT, UNDERSCORE] = [32, 45, 46, 95] as const
/** The fewest digits of a card. */
const CARD_DIGITS = 13

export function candidatesIn(text: string): Candidates {
  const found = new Found(text)
  walk(found, 0, text.length)
  return found.finish()
}

/** Letters of one step. */
export const SLICE = 1 << 16

/** The same in steps, between which others may have their turn. */
export function* candidateSteps(text: string): Generator<void, Candidates> {
  const found = new Found(text)
  for (let at = 0; at < text.length; ) {
    at = walk(found, at, Math.min(text.length, at + SLICE))
    yield
  }
  return found.finish()
}

/**
 * To `limit`, or behind the digits that stand there; where it ends. What it remembers is in
 * variables of its own, since fields cost as much as all the rest of it.
 */
function walk(found: Found, from: number, limit: number): number {
  const { text } = found
  let { start, end, startBefore, endBefore, chainStart, chainDigits } = found
  let at = from
  while (at < limit) {
    const kind = KINDS[text.charCodeAt(at)] as number
    if (kind !== DIGIT) {
      if (kind === KEY && beginsKey(text, at)) found.lists.keys.push(at)
      at++
      continue
    }
    const first = at++
    while (isDigit(text.charCodeAt(at))) at++
    const length = at - first
    // What separates the group from the one before, if that is one letter.
    const separator = end === first - 1 ? text.charCodeAt(end) : 0
    if (separator === SPACE || separator === HYPHEN) chainDigits += length
    else {
      if (chainDigits >= CARD_DIGITS) found.lists.chains.push(chainStart, end)
      chainStart = first
      chainDigits = length
      if (length >= 2 && isCapital(text.charCodeAt(first - 1))) addAccount(found, first)
    }
    if (separator !== 0 && (length === 3 || length === 4)) {
      Object.assign(found, { start, end, startBefore, endBefore })
      addLast(found, first, at, separator)
    }
    startBefore = start
    endBefore = end
    start = first
    end = at
  }
  Object.assign(found, { start, end, startBefore, endBefore, chainStart, chainDigits })
  return at
}

type Lists = { readonly [K in keyof Candidates]: number[] }

const NO_CANDIDATES: Candidates = {
  keys: [],
  accounts: [],
  socials: [],
  insurances: [],
  chains: [],
  phoneEnds: [],
}

/** `(?<![\w-])` and a prefix; what follows it is for the recognizer to see. */
function beginsKey(text: string, at: number): boolean {
  if (!hasPrefix(text, at) || (at > 0 && isWordOrHyphen(text.charCodeAt(at - 1)))) return false
  // The shortest key has fifteen letters.
  return isWordOrHyphen(text.charCodeAt(at + 6)) && isWordOrHyphen(text.charCodeAt(at + 14))
}

/** As few letters of it as tell it from words. */
function hasPrefix(text: string, at: number): boolean {
  const second = text.charCodeAt(at + 1)
  const third = text.charCodeAt(at + 2)
  switch (text.charCodeAt(at)) {
    case 115:
      // sk-
      return second === 107 && third === HYPHEN
    case 103:
      // ghp_ and its like, github_pat_, glpat-
      if (second === 104) return text.charCodeAt(at + 3) === UNDERSCORE
      if (second === 105) return third === 116 && text.charCodeAt(at + 6) === UNDERSCORE
      return second === 108 && third === 112 && text.charCodeAt(at + 5) === HYPHEN
    case 120:
      // xoxb- and its like
      return second === 111 && third === 120 && text.charCodeAt(at + 4) === HYPHEN
    case 104:
      // hf_
      return second === 102 && third === UNDERSCORE
    default:
      // AKIA, AIza
      return second === 75 ? third === 73 : second === 73 && third === 122
  }
}

/** `[\w-]`; not a number where the text ends. */
function isWordOrHyphen(code: number): boolean {
  return code === HYPHEN || isWord(code)
}

function isWord(code: number): boolean {
  return (code >= 97 && code <= 122) || isCapital(code) || isDigit(code) || code === UNDERSCORE
}

function isCapital(code: number): boolean {
  return code >= 65 && code <= 90
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

class Found {
  readonly text: string
  /** Of the group of digits before, and of that before it. */
  start = -1
  end = -1
  startBefore = -1
  endBefore = -1
  /** Groups with one space or hyphen between them. */
  chainStart = -1
  chainDigits = 0
  #lists: Lists | undefined

  constructor(text: string) {
    this.text = text
  }

  /** Most texts are short and have none. */
  get lists(): Lists {
    this.#lists ??= {
      keys: [],
      accounts: [],
      socials: [],
      insurances: [],
      chains: [],
      phoneEnds: [],
    }
    return this.#lists
  }

  finish(): Candidates {
    if (this.chainDigits >= CARD_DIGITS) this.lists.chains.push(this.chainStart, this.end)
    return this.#lists ?? NO_CANDIDATES
  }
}

function addAccount({ text, lists }: Found, digits: number): void {
  const start = digits - 2
  if (start < 0 || !isCapital(text.charCodeAt(start))) return
  if (start === 0 || !isWord(text.charCodeAt(start - 1))) lists.accounts.push(start)
}

/** Three or four digits behind others may end a number that is written in groups. */
function addLast(found: Found, first: number, behind: number, separator: number): void {
  const { text, start, end, startBefore, endBefore } = found
  const after = text.charCodeAt(behind)
  if (isWordOrHyphen(after)) return
  const [length, middle] = [behind - first, end - start]
  const isSeparatedAlike =
    endBefore === start - 1 &&
    text.charCodeAt(endBefore) === separator &&
    endBefore - startBefore === 3 &&
    (separator === SPACE || separator === HYPHEN)
  if (isSeparatedAlike && middle === 2 && length === 4) found.lists.socials.push(startBefore)
  if (isSeparatedAlike && middle === 3 && length === 3) found.lists.insurances.push(startBefore)
  const isSeparated = separator === SPACE || separator === HYPHEN || separator === DOT
  // `(?![ .]\d)`: in a table of numbers another one follows.
  const goesOn = (after === SPACE || after === DOT) && isDigit(text.charCodeAt(behind + 1))
  // As many as there are where nothing separates them from what stands before: +15551234 5678.
  if (isSeparated && !goesOn && middle >= 3 && middle <= 11) found.lists.phoneEnds.push(first)
}

/** The index of the first number that is not below `from`; the list ascends. */
export function indexFrom(list: readonly number[], from: number): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((list[middle] as number) < from) low = middle + 1
    else high = middle
  }
  return low
}
