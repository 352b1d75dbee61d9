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

const OTHER = 0
const DIGIT = 1
/** Letters of the prefixes of keys that words seldom have. */
const MARK = 2
const CAPITAL_A = 3
/** By UTF-16 unit, so that no unit is outside. */
const KINDS = new Uint8Array(0x1_0000)
for (const letter of '_-') KINDS[letter.charCodeAt(0)] = MARK
for (const digit of '0123456789') KINDS[digit.charCodeAt(0)] = DIGIT
KINDS[65] = CAPITAL_A
/** Letters that stand before a mark: sk-, glpat-, xoxb-, hf_, ghp_, github_. */
const BEFORE_MARK = new Uint8Array(0x1_0000)
for (const letter of 'ktabprsfou') BEFORE_MARK[letter.charCodeAt(0)] = 1
/** AKIA, AIza. */
const AFTER_A = new Uint8Array(0x1_0000)
for (const letter of 'KI') AFTER_A[letter.charCodeAt(0)] = 1
/** The same: V8 skips what is nothing of that many letters at a time, where few of them are. */
const DIGIT_OR_MARK = /[0-9A_-]/g
/** After as many letters that are nothing it skips. */
const DULL = 24

const [SPACE, HYPHEN, DOT, UNDERSCORE] = [32, 45, 46, 95] as const
/** The fewest digits of a card. */
const CARD_DIGITS = 13

export function candidatesIn(text: string): Candidates {
  const walk = new Walk(text)
  while (!walk.isOver) walk.slice()
  return walk.finish()
}

/** Letters of one step: some tenths of a millisecond. */
export const STEP = 1 << 16

/** The same in steps, between which others may have their turn. */
export function* candidateSteps(text: string): Generator<void, Candidates> {
  const walk = new Walk(text)
  for (let slices = 1; !walk.isOver; slices++) {
    walk.slice()
    if (slices % (STEP / SLICE) === 0) yield
  }
  return walk.finish()
}

/** Letters that are read into one array: longer ones are walked before the walk is compiled. */
const SLICE = 1 << 12

/** How far the walk looks around a letter: prefixes of keys, and that something follows them. */
const AROUND = 16
/**
 * The letters of a slice and those around it, zeros where the text is over: to read them here takes
 * half the time that it takes to ask a string for each. One for all texts, since no slice is walked
 * in several turns.
 */
const UNITS = new Uint16Array(SLICE + 2 * AROUND)
const BYTES = Buffer.from(UNITS.buffer)

type Lists = { readonly [K in keyof Candidates]: number[] }

const NO_CANDIDATES: Candidates = {
  keys: [],
  accounts: [],
  socials: [],
  insurances: [],
  chains: [],
  phoneEnds: [],
}

/** What is known of the digits so far. */
interface Groups {
  /** Of the group before, and what separates it from the one before it. */
  readonly start: number
  readonly end: number
  readonly separator: number
  /** Of that one. */
  readonly startBefore: number
  readonly lengthBefore: number
  /** Groups with one space or hyphen between them. */
  readonly chainStart: number
  readonly chainDigits: number
}

class Walk {
  readonly #text: string
  #at: number
  /** Where digits begin that go on in the next slice; -1: there are none. */
  #open = -1
  #groups: Groups = {
    start: -1,
    end: -2,
    separator: 0,
    startBefore: -1,
    lengthBefore: 0,
    chainStart: -1,
    chainDigits: 0,
  }
  #lists: Lists | undefined

  constructor(text: string) {
    this.#text = text
    this.#at = nextPlace(text, 0)
  }

  get isOver(): boolean {
    return this.#at >= this.#text.length
  }

  /** Most texts are short and have none. */
  get #found(): Lists {
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
    const { chainDigits, chainStart, end } = this.#groups
    if (chainDigits >= CARD_DIGITS) this.#found.chains.push(chainStart, end)
    return this.#lists ?? NO_CANDIDATES
  }

  /** What it remembers between letters is in variables: fields cost as much as all the rest. */
  slice(): void {
    const text = this.#text
    const from = this.#at
    const length = Math.min(SLICE, text.length - from)
    load(text, from, length)
    const behind = AROUND + length
    const isLast = from + length === text.length
    // Where a place in the array is in the text.
    const shift = from - AROUND
    let at = AROUND
    if (this.#open >= 0) {
      at = digitsEnd(at, behind)
      if (at === behind && !isLast) {
        this.#at += length
        return
      }
    }
    let first = this.#open
    let { start, end, separator, startBefore, lengthBefore, chainStart, chainDigits } = this.#groups
    for (let dull = 0; at < behind || first >= 0; ) {
      if (first < 0) {
        const kind = KINDS[UNITS[at] as number]
        if (kind === OTHER) {
          at++
          if (++dull < DULL) continue
          at = nextPlace(text, at + shift) - shift
          dull = 0
          continue
        }
        dull = 0
        if (kind !== DIGIT) {
          // To call somebody for each takes three times as long.
          const isLikely =
            kind === MARK
              ? BEFORE_MARK[UNITS[at - 1] as number] === 1
              : AFTER_A[UNITS[at + 1] as number] === 1
          if (isLikely) {
            const key = kind === MARK ? markedKey(at) : capitalKey(at)
            if (key >= 0) this.#found.keys.push(key + shift)
          }
          at++
          continue
        }
        first = at + shift
        at = digitsEnd(at, behind)
        if (at === behind && !isLast) break
      }
      const digits = at + shift - first
      const middle = end - start
      // What separates the group from the one before, if that is one letter.
      const own = end === first - 1 ? text.charCodeAt(end) : 0
      if (own === SPACE || own === HYPHEN) chainDigits += digits
      else {
        if (chainDigits >= CARD_DIGITS) this.#found.chains.push(chainStart, end)
        chainStart = first
        chainDigits = digits
        if (digits >= 2 && first >= from && beginsAccount(first - shift)) {
          this.#found.accounts.push(first - 2)
        }
      }
      if (own !== 0 && (digits === 3 || digits === 4) && !isWordOrHyphen(UNITS[at] as number)) {
        const isAlike = separator === own && lengthBefore === 3 && (own === SPACE || own === HYPHEN)
        if (isAlike && middle === 2 && digits === 4) this.#found.socials.push(startBefore)
        if (isAlike && middle === 3 && digits === 3) this.#found.insurances.push(startBefore)
        if (endsPhone(at, own, middle)) this.#found.phoneEnds.push(first)
      }
      startBefore = start
      lengthBefore = middle
      separator = own
      start = first
      end = at + shift
      first = -1
    }
    this.#open = first
    this.#groups = {
      start,
      end,
      separator,
      startBefore,
      lengthBefore,
      chainStart,
      chainDigits,
    }
    this.#at = at + shift
  }
}

/** The next digit or mark at or after `from`; the end of the text if there is none. */
function nextPlace(text: string, from: number): number {
  DIGIT_OR_MARK.lastIndex = from
  return DIGIT_OR_MARK.test(text) ? DIGIT_OR_MARK.lastIndex - 1 : text.length
}

function load(text: string, from: number, length: number): void {
  const start = Math.max(0, from - AROUND)
  const end = Math.min(text.length, from + length + AROUND)
  const offset = AROUND - (from - start)
  UNITS.fill(0, 0, offset)
  BYTES.write(text.slice(start, end), 2 * offset, 'utf16le')
  UNITS.fill(0, offset + end - start, length + 2 * AROUND)
}

function digitsEnd(from: number, behind: number): number {
  let at = from
  while (at < behind && KINDS[UNITS[at] as number] === DIGIT) at++
  return at
}

/** Where the key begins whose prefix has this mark; -1: there is none. */
function markedKey(mark: number): number {
  const before = UNITS[mark - 1] as number
  let start = -1
  if (UNITS[mark] === HYPHEN) {
    // sk-, xoxb- and its like, glpat-
    if (before === 107) start = UNITS[mark - 2] === 115 ? mark - 2 : -1
    else if (UNITS[mark - 2] === 120) start = UNITS[mark - 4] === 120 ? mark - 4 : -1
    else if (before === 116) start = UNITS[mark - 5] === 103 ? mark - 5 : -1
  } else if (before === 102) {
    // hf_, ghp_ and its like, github_pat_
    start = UNITS[mark - 2] === 104 ? mark - 2 : -1
  } else if (UNITS[mark - 2] === 104) start = UNITS[mark - 3] === 103 ? mark - 3 : -1
  else if (before === 98) start = UNITS[mark - 6] === 103 ? mark - 6 : -1
  return start >= 0 && isWhole(start) ? start : -1
}

/** AKIA and AIza. */
function capitalKey(at: number): number {
  const second = UNITS[at + 1]
  const begins = second === 75 ? UNITS[at + 2] === 73 : second === 73 && UNITS[at + 2] === 122
  return begins && isWhole(at) ? at : -1
}

/** `(?<![\w-])`, and as many letters as the shortest key has; the rest is the recognizer's. */
function isWhole(start: number): boolean {
  return (
    !isWordOrHyphen(UNITS[start - 1] as number) &&
    isWordOrHyphen(UNITS[start + 6] as number) &&
    isWordOrHyphen(UNITS[start + 14] as number)
  )
}

/** Two capital letters before the digits, and nothing before these. */
function beginsAccount(digits: number): boolean {
  return (
    isCapital(UNITS[digits - 1] as number) &&
    isCapital(UNITS[digits - 2] as number) &&
    !isWord(UNITS[digits - 3] as number)
  )
}

/** The last three or four digits of a telephone number end here. */
function endsPhone(behind: number, separator: number, middle: number): boolean {
  if (separator !== SPACE && separator !== HYPHEN && separator !== DOT) return false
  const after = UNITS[behind]
  // `(?![ .]\d)`: in a table of numbers another one follows.
  if ((after === SPACE || after === DOT) && isDigit(UNITS[behind + 1] as number)) return false
  // As many as there are where nothing separates them from what stands before: +15551234 5678.
  return middle >= 3 && middle <= 11
}

/** `[\w-]` */
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
