import { type Alphabet, letterOf } from './regex-alphabet.ts'

/*
 * Strings as bytes, of which an automaton reads two with one table lookup. Reading each character
 * from the string takes longer than everything else in a walk over a long string.
 */

/** Bytes loaded at a time. */
const SLICE = 1 << 12
const BYTES = new Uint8Array(SLICE)
const PAIRS = new Uint16Array(BYTES.buffer)
const encoder = new TextEncoder()

/** With more letters, tables of pairs would cost more memory than they are worth. */
const MAX_LETTERS = 14
/** Max cells per pattern, of 4 bytes each. */
const MAX_CELLS = 1 << 15
const CONTINUED = 0x80
const LONG = 0xf0

/** Values in the table; anything else is the offset of a state's row. */
const UNKNOWN = 0
/** The two letters must be read one by one. */
const APART = -1

/** The column of each pair of bytes, for one alphabet at a time. No pair has the last column. */
const COLUMN_OF_PAIR = new Uint8Array(0x1_0000)
let columnsOf: ByteTable | undefined

/** Where a walk ended: the row, and the last pair before which no match was in progress, or -1. */
const REACHED = new Int32Array(2)

/**
 * Transitions of states by pairs of bytes. All non-ASCII characters share one letter, which the
 * first of their bytes represents; the others change nothing. One slice of one string is loaded at
 * a time, and is valid only until another walk loads its own.
 */
export class ByteTable {
  /** The letter of each byte. */
  readonly letters = new Uint8Array(256)
  /** The letter of bytes that change nothing. */
  readonly nothing: number
  readonly #letters: number
  readonly #width: number
  readonly #isUniform: boolean
  #table = new Int32Array(0)

  private constructor(alphabet: Alphabet) {
    const { size, ascii, starts } = alphabet
    this.nothing = size
    this.#letters = size + 1
    this.#width = this.#letters * this.#letters + 1
    this.#isUniform = (starts.at(-1) ?? 0) <= 0x80
    this.letters.set(ascii)
    this.letters.fill(this.nothing, 0x80, 0xc0)
    this.letters.fill(letterOf(alphabet, 0x80), 0xc0)
  }

  /** `undefined` if there are too many letters. */
  static of(alphabet: Alphabet): ByteTable | undefined {
    return alphabet.size > MAX_LETTERS ? undefined : new ByteTable(alphabet)
  }

  /**
   * Loads the string from this offset on; `undefined` if it has non-ASCII characters with different
   * letters.
   */
  load(text: string, from: number, limit: number): ByteSlice | undefined {
    let end = Math.min(limit, from + SLICE)
    // Half of a surrogate pair would be a different character.
    if ((text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end--
    const part = text.slice(from, end)
    const { read, written } = encoder.encodeInto(part, BYTES)
    if (written > read && !this.#isUniform) return undefined
    return new ByteSlice(read, written)
  }

  forget(): void {
    this.#table.fill(UNKNOWN)
  }

  /** Whether states up to this one have rows; enlarges the table if necessary. */
  #hasRoom(state: number): boolean {
    const needed = (state + 1) * this.#width
    if (needed <= this.#table.length) return true
    if (needed > MAX_CELLS) return false
    const larger = new Int32Array(Math.min(MAX_CELLS, 2 * needed))
    larger.set(this.#table)
    this.#table = larger
    return true
  }

  /** Whether the table has room for a state; sets in its row whether no match is in progress. */
  holds(state: number, isFresh: boolean): boolean {
    if (!this.#hasRoom(state)) return false
    this.#table[(state + 1) * this.#width - 1] = isFresh ? 1 : 0
    return true
  }

  /** Walks from a state to the first pair with an unknown transition, or to `stop`. */
  walk(state: number, pair: number, stop: number): Reached {
    if (columnsOf !== this) this.#writeColumns()
    REACHED[0] = state * this.#width
    const reached = walkPairs(this.#table, this.#width - 1, pair, stop)
    return {
      pair: reached,
      state: (REACHED[0] as number) / this.#width,
      fresh: REACHED[1] as number,
    }
  }

  /** Records the transition of a state for a pair; -1: the pair must be read byte by byte. */
  learn(state: number, pair: number, next: number): void {
    const column = COLUMN_OF_PAIR[PAIRS[pair] as number] as number
    const isHeld = next >= 0 && this.#hasRoom(next)
    this.#table[state * this.#width + column] = isHeld ? next * this.#width : APART
  }

  #writeColumns(): void {
    const pair = new Uint16Array(1)
    const bytes = new Uint8Array(pair.buffer)
    for (let code = 0; code < COLUMN_OF_PAIR.length; code++) {
      pair[0] = code
      const [first = 0, second = 0] = bytes
      const column = (this.letters[first] as number) * this.#letters
      COLUMN_OF_PAIR[code] = column + (this.letters[second] as number)
    }
    columnsOf = this
  }
}

interface Reached {
  readonly pair: number
  readonly state: number
  readonly fresh: number
}

/** A separate, frequently called function, so that V8 compiles it on its own. */
function walkPairs(table: Int32Array, isFresh: number, from: number, stop: number): number {
  let row = REACHED[0] as number
  let fresh = -1
  let pair = from
  for (; pair < stop; pair++) {
    const column = COLUMN_OF_PAIR[PAIRS[pair] as number] as number
    const next = table[row + column] as number
    // Most slow strings stay in one state, in which case there is nothing to wait for.
    if (next === row) continue
    if (table[row + isFresh] === 1) fresh = pair
    if (next <= UNKNOWN) break
    row = next
  }
  REACHED[0] = row
  REACHED[1] = fresh
  return pair
}

/** The loaded part of a string. */
export class ByteSlice {
  /** UTF-16 units of the string. */
  readonly units: number
  readonly bytes: number

  constructor(units: number, bytes: number) {
    this.units = units
    this.bytes = bytes
  }

  byteAt(index: number): number {
    return BYTES[index] as number
  }

  /** UTF-16 units of the characters that begin before this byte. */
  unitsBefore(index: number): number {
    if (this.units === this.bytes) return index
    if (index === this.bytes) return this.units
    let units = 0
    for (let at = 0; at < index; at++) {
      const byte = BYTES[at] as number
      if (byte < CONTINUED || byte >= 0xc0) units += byte >= LONG ? 2 : 1
    }
    return units
  }
}
