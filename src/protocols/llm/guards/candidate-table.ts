/*
 * Two automata that find where findings can be, built once from the state that a reader would keep
 * between two characters. A character costs one lookup in each table, whatever the text is: a near
 * match costs no more than a word.
 */

/** Characters that no automaton distinguishes share a column. The first is for irrelevant ones. */
const COLUMN_SAMPLES = '\0 -._0AKIZskxoghlpatfburize'
const COLUMNS = COLUMN_SAMPLES.length
/** The column of each single-byte character. */
export const COLUMN_OF = new Uint8Array(0x100)
for (let code = 0; code < 128; code++) {
  const letter = String.fromCharCode(code)
  const own = COLUMN_SAMPLES.indexOf(letter)
  const alike = /\d/.test(letter)
    ? '0'
    : /[A-Z]/.test(letter)
      ? 'Z'
      : /[a-z]/.test(letter)
        ? 'e'
        : '\0'
  COLUMN_OF[code] = own >= 0 ? own : COLUMN_SAMPLES.indexOf(alike)
}

/** The events at a character, as bits above the row of the next state. */
export const ROW = (1 << 18) - 1
/** Any event: the tables of pairs do not say which. */
const MET = 1 << 18
/** The prefix of a key ends with this character. */
export const KEY = 1 << 19
/** This is the second digit after two capital letters. */
export const ACCOUNT = 1 << 20
/** Digits grouped as 3-2-4 or 3-3-3 end before this character. */
export const SOCIAL = 1 << 21
export const INSURANCE = 1 << 22
/** The last digits of a telephone number end before this character, or one character earlier. */
export const PHONE = 1 << 23
export const PHONE_BEFORE = 1 << 24
/** This is the thirteenth digit of a chain. */
export const CHAIN = 1 << 25
/** A chain of at least that length ends before this character, or one character earlier. */
export const CHAIN_END = 1 << 26
export const CHAIN_END_BEFORE = 1 << 27

const PREFIXES = [
  ...['sk-', 'glpat-', 'hf_', 'github_pat_', 'AKIA', 'AIza'],
  ...[...'pousr'].map((letter) => `gh${letter}_`),
  ...[...'abprs'].map((letter) => `xox${letter}-`),
]

/** The digits before a separator. */
interface Before {
  readonly separator: string
  /** Three to eleven digits: the middle of a telephone number. */
  readonly isMiddle: boolean
  readonly isThree: boolean
  /** Two or three if the same separator and three more digits precede them, else 0. */
  readonly alike: number
}

interface State {
  /** The part of a key prefix read so far; undefined if none can begin with the next character. */
  readonly prefix: string | undefined
  /** Capital letters since the last non-word character; -1 if there is anything else among them. */
  readonly capitals: number
  /** Consecutive digits, as far as relevant, and what precedes them. */
  readonly digits: number
  readonly before: Before | undefined
  /** One separator after digits, and whether they end a telephone number unless more follow. */
  readonly after: Before | undefined
  readonly isPhone: boolean
  /** Two capital letters precede the digits, and no word precedes the letters. */
  readonly isAccount: boolean
}

const START: State = {
  prefix: '',
  capitals: 0,
  digits: 0,
  before: undefined,
  after: undefined,
  isPhone: false,
  isAccount: false,
}
const MAX_DIGITS = 12

interface Step {
  readonly state: State
  readonly met: number
}

/** Applies one character to a state. */
function step(state: State, letter: string): Step {
  const prefix = nextPrefix(state.prefix, letter)
  const isKey = PREFIXES.includes(prefix ?? '')
  const capitals = nextCapitals(state.capitals, letter)
  let met = isKey ? KEY : 0
  const own = { ...START, prefix: isKey ? undefined : prefix, capitals }
  if (isDigit(letter)) {
    const digits = Math.min(MAX_DIGITS, state.digits + 1)
    const isAccount = state.digits === 0 ? state.capitals === 2 : state.isAccount
    if (isAccount && digits === 2) met |= ACCOUNT
    const before = state.digits === 0 ? state.after : state.before
    return { state: { ...own, digits, before, isAccount: isAccount && digits < 2 }, met }
  }
  if (state.isPhone) met |= PHONE_BEFORE
  const { digits, before } = state
  if (digits === 0) return { state: own, met }
  const isLast = (digits === 3 || digits === 4) && !isWordOrHyphen(letter)
  if (isLast && before?.alike === 2 && digits === 4) met |= SOCIAL
  if (isLast && before?.alike === 3 && digits === 3) met |= INSURANCE
  const isPhone = isLast && before?.isMiddle === true
  if (!isSeparator(letter)) return { state: own, met: met | (isPhone ? PHONE : 0) }
  return { state: { ...own, after: beforeNext(digits, before, letter), isPhone }, met }
}

function nextPrefix(prefix: string | undefined, letter: string): string | undefined {
  const longer = prefix === undefined ? undefined : prefix + letter
  if (longer !== undefined && PREFIXES.some((one) => one.startsWith(longer))) return longer
  return isWordOrHyphen(letter) ? undefined : ''
}

function nextCapitals(capitals: number, letter: string): number {
  if (!isWordOrHyphen(letter) || letter === '-') return 0
  return /[A-Z]/.test(letter) && capitals >= 0 && capitals < 2 ? capitals + 1 : -1
}

function beforeNext(digits: number, before: Before | undefined, separator: string): Before {
  const isAlike = separator !== '.' && before?.separator === separator && before.isThree
  return {
    separator,
    isMiddle: digits >= 3 && digits <= 11,
    isThree: digits === 3,
    alike: isAlike && (digits === 2 || digits === 3) ? digits : 0,
  }
}

function isDigit(letter: string): boolean {
  return letter === '0'
}

/** `[\w-]` */
function isWordOrHyphen(letter: string): boolean {
  return /[\w-]/.test(letter)
}

function isSeparator(letter: string): boolean {
  return letter === ' ' || letter === '-' || letter === '.'
}

/** Digits with at most one space or hyphen between them, counted up to the min length of a card. */
interface Chain {
  readonly digits: number
  readonly isSeparated: boolean
}

/** The min number of digits of a card number. */
const CARD_DIGITS = 13

function stepChain({ digits, isSeparated }: Chain, letter: string): { state: Chain; met: number } {
  if (isDigit(letter)) {
    const more = Math.min(CARD_DIGITS, digits + 1)
    const isFirst = more === CARD_DIGITS && digits < CARD_DIGITS
    return { state: { digits: more, isSeparated: false }, met: isFirst ? CHAIN : 0 }
  }
  const isGoingOn = digits > 0 && !isSeparated && (letter === ' ' || letter === '-')
  if (isGoingOn) return { state: { digits, isSeparated: true }, met: 0 }
  const met = digits < CARD_DIGITS ? 0 : isSeparated ? CHAIN_END_BEFORE : CHAIN_END
  return { state: { digits: 0, isSeparated: false }, met }
}

/** An automaton as a table: a row of cells for each state, the first for the initial state. */
interface Table {
  /** By character: the events, and where the next row begins. */
  readonly single: Int32Array
  /** By pair of characters, in rows whose offsets are PAIR times those of `single`. */
  readonly pairs: Int32Array
}

const PAIRS = COLUMNS * COLUMNS

function tableOf<S>(first: S, next: (state: S, letter: string) => { state: S; met: number }) {
  const rows = new Map([[JSON.stringify(first), 0]])
  const states = [first]
  const cells: number[] = []
  for (const state of states) {
    for (const letter of COLUMN_SAMPLES) {
      const { state: to, met } = next(state, letter)
      const key = JSON.stringify(to)
      let row = rows.get(key)
      if (row === undefined) {
        row = states.push(to) - 1
        rows.set(key, row)
      }
      cells.push((row * COLUMNS) | met | (met === 0 ? 0 : MET))
    }
  }
  if (states.length * PAIRS > ROW) throw new Error('too many states')
  const single = Int32Array.from(cells)
  const rowOf = (state: S) => (rows.get(JSON.stringify(state)) ?? 0) * COLUMNS
  return { table: { single, pairs: pairsOf(single) }, rowOf }
}

function pairsOf(single: Int32Array): Int32Array {
  const pairs = new Int32Array(single.length * COLUMNS)
  let at = 0
  for (const first of single) {
    const row = first & ROW
    for (let column = 0; column < COLUMNS; column++) {
      const second = single[row + column] as number
      pairs[at++] = ((second & ROW) * COLUMNS) | ((first | second) & MET)
    }
  }
  return pairs
}

/** Row offsets of `pairs` are those of `single` times this factor. */
export const PAIR = COLUMNS

/** The column of each pair of single-byte characters, in memory order. */
function pairColumns(): Uint16Array {
  const columns = new Uint16Array(0x1_0000)
  // Independent of the byte order of the platform.
  const pair = new Uint16Array(1)
  const letters = new Uint8Array(pair.buffer)
  for (let code = 0; code < columns.length; code++) {
    pair[0] = code
    const [first = 0, second = 0] = letters
    columns[code] = (COLUMN_OF[first] as number) * COLUMNS + (COLUMN_OF[second] as number)
  }
  return columns
}

interface Tables {
  readonly findings: Table
  readonly chains: Table
  readonly columnOfPair: Uint16Array
  /** The row of `findings.single` after a character of a word, with no digit or mark nearby. */
  readonly inWord: number
}

let tables: Tables | undefined

/** Built on first use: most gateways have no guards. */
export function candidateTables(): Tables {
  if (tables === undefined) {
    const { table: findings, rowOf } = tableOf(START, step)
    const { table: chains } = tableOf<Chain>({ digits: 0, isSeparated: false }, stepChain)
    const inWord = rowOf({ ...START, prefix: undefined, capitals: -1 })
    tables = { findings, chains, columnOfPair: pairColumns(), inWord }
  }
  return tables
}

/** The row of both tables after a character that is not part of a word, a digit or a separator. */
export const OUTSIDE = 0
