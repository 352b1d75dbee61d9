import { charge, isSpent } from '../values/fuel.ts'
import type { Allowance } from '../values/ledger.ts'
import { type Alphabet, alphabetOf, contains, EDGE, letterOf, OTHER } from './regex-alphabet.ts'
import { type ByteSlice, ByteTable } from './regex-bytes.ts'
import { conditions, kindBefore } from './regex-conditions.ts'
import {
  ASSERT,
  BEGIN_TEXT,
  CAPTURE,
  CHAR,
  JUMP,
  MATCH,
  type Program,
  SPLIT,
} from './regex-program.ts'

/** Values in the transition table; anything else is the offset of a state's row. */
const UNKNOWN = 0
const DEAD = 1
const MATCHED = 2
const FIRST_ROW = 3

/** Max numbers cached per pattern, in its table and its states: up to 300 KB for any string. */
const MAX_CACHE = 1 << 15
/** The cache has room for at least this many states. */
const MIN_STATES = 16
/** The size of a state besides its row and its instructions. */
const STATE_OVERHEAD = 16
/** Added to the kind of the preceding character in the key of a fresh state. */
const FRESH = 4
/** Min characters worth loading as bytes, and the number of characters read at a time otherwise. */
const WORTH_LOADING = 1 << 7
const UNLOADED = 1 << 12
/** The cost of computing a transition, besides the waiting threads, in looks of a search. */
const LOOKS_PER_TRANSITION = 16
/** The cost of visiting an instruction for an unknown transition, in units of fuel. */
const UNITS_PER_INSTRUCTION = 2

interface State {
  /** CHAR and ASSERT instructions where threads wait, in order. */
  readonly waiting: readonly number[]
  readonly asks: boolean
  /** The kind of the preceding character if an ASSERT waits; else OTHER, as it is not needed. */
  readonly before: number
  /** Every thread began here: no match is in progress. */
  readonly isFresh: boolean
}

/** A walk over a string that can be interrupted and resumed. */
export interface Walk {
  /** 'spent': continuing would cost more than is left. */
  readonly result: 'matched' | 'dead' | 'more' | 'spent'
  /** The offset after the last character that was read. */
  readonly at: number
  /** No match begins before this offset: none was in progress here. */
  readonly fresh: number
  readonly state: State | undefined
  /** The row of `state`, as long as the cache has these `states`. */
  readonly row: number
  readonly states: readonly State[]
}

/**
 * Tests whether a pattern matches somewhere in a string. Sets of threads become states when they
 * first occur; a string that reaches no new state costs one table lookup per character. When the
 * cache is full it is cleared, so that the worst string costs a visit to every instruction per
 * character, but never more memory. That cost is charged as it occurs: it depends on which states
 * were reached before, but only a string that keeps reaching new states exceeds its budget.
 */
export class Automaton {
  readonly #program: Program
  readonly #alphabet: Alphabet
  /** One column per letter, one for the end of the string, and one that marks fresh states. */
  readonly #columns: number
  /** No thread starts after the first character: the pattern begins with ^. */
  readonly #anchored: boolean
  readonly #largest: number

  /** For walks; `undefined` before the first one, or if there are too many letters. */
  #bytes: ByteTable | undefined

  #table = new Int32Array(0)
  #states: State[] = []
  #rowOf = new Map<string, number>()
  #held = 0
  #start = UNKNOWN

  readonly #seen: Uint32Array
  #round = 0
  /** One bit per instruction where a waiting thread was found. */
  readonly #found: Int32Array
  readonly #stack: number[] = []
  /** No thread advanced past the last character. */
  #hasNone = true

  constructor(program: Program) {
    this.#program = withoutDetours(program)
    this.#alphabet = alphabetOf(program)
    this.#columns = this.#alphabet.size + 2
    this.#seen = new Uint32Array(program.op.length)
    this.#found = new Int32Array((program.op.length + 31) >> 5)
    this.#anchored = this.#onlyAtStart()
    const largestState = this.#columns + program.op.length + STATE_OVERHEAD
    this.#largest = Math.max(MAX_CACHE, MIN_STATES * largestState)
  }

  matches(text: string): boolean {
    const { ascii } = this.#alphabet
    if (this.#start === UNKNOWN) this.#start = this.#begin()
    let table = this.#table
    let row = this.#start
    for (let i = 0; row >= FIRST_ROW && i < text.length; i++) {
      let code = text.charCodeAt(i)
      let letter: number
      if (code < 128) {
        letter = ascii[code] as number
      } else {
        code = text.codePointAt(i) as number
        if (code > 0xffff) i++
        letter = letterOf(this.#alphabet, code)
      }
      const next = table[row + letter] as number
      if (next === UNKNOWN) {
        row = this.#advance(row, letter)
        table = this.#table
        if (isSpent()) return false
      } else {
        row = next
      }
    }
    if (row >= FIRST_ROW) row = this.#atEnd(row)
    return row === MATCHED
  }

  #atEnd(row: number): number {
    const end = this.#alphabet.size
    return (this.#table[row + end] as number) || this.#advance(row, end)
  }

  /** Begins a walk at an offset. */
  open(text: string, from: number): Walk {
    this.#bytes ??= ByteTable.of(this.#alphabet)
    const row = this.#begin(kindBefore(text, from))
    return this.#walked(row, from, from)
  }

  /**
   * Advances to `limit`: equivalent to `matches` for the rest of the string, in pieces. Other walks
   * may have used the cache since. `looks` pays for unknown transitions, since a string can be
   * written so that it always reaches new ones.
   */
  walk(walk: Walk, text: string, limit: number, looks: Allowance): Walk {
    const { state, states } = walk
    if (state === undefined) return walk
    const isKnown = states === this.#states
    let row = isKnown ? walk.row : this.#rowFor(state.waiting, state.before, state.isFresh)
    let { at, fresh } = walk
    while (row >= FIRST_ROW && at < limit) {
      if (looks.left < 0) return { ...this.#walked(row, at, fresh), result: 'spent' }
      const slice = limit - at < WORTH_LOADING ? undefined : this.#bytes?.load(text, at, limit)
      if (slice === undefined) {
        const stop = Math.min(limit, at + UNLOADED)
        for (; row >= FIRST_ROW && at < stop; at++) {
          if (this.#isFresh(row)) fresh = at
          const code = text.codePointAt(at) as number
          if (code > 0xffff) at++
          row = this.#step(row, letterOf(this.#alphabet, code), looks)
        }
      } else {
        const passed = this.#walkBytes(row, slice, looks)
        if (passed.fresh >= 0) fresh = at + slice.unitsBefore(passed.fresh)
        row = passed.row
        at += slice.unitsBefore(passed.bytes)
      }
    }
    if (row >= FIRST_ROW && this.#isFresh(row)) fresh = at
    if (row >= FIRST_ROW && at >= text.length) row = this.#atEnd(row)
    return this.#walked(row, at, fresh)
  }

  /** `fresh`: the last byte before which no match was in progress, or -1 if there is none. */
  #walkBytes(from: number, slice: ByteSlice, looks: Allowance) {
    const table = this.#bytes as ByteTable
    const columns = this.#columns
    const even = slice.bytes & ~1
    let row = from
    let fresh = -1
    let bytes = 0
    const step = () => {
      const letter = table.letters[slice.byteAt(bytes++)] as number
      if (letter !== table.nothing) row = this.#step(row, letter, looks)
    }
    while (row >= FIRST_ROW && bytes < slice.bytes && looks.left >= 0) {
      const isHeld = bytes < even && table.holds(row / columns, this.#isFresh(row))
      if (isHeld) {
        const reached = table.walk(row / columns, bytes >> 1, even >> 1)
        if (reached.fresh >= 0) fresh = 2 * reached.fresh
        row = reached.state * columns
        bytes = 2 * reached.pair
      }
      if (bytes === slice.bytes) break
      if (this.#isFresh(row)) fresh = bytes
      const [before, first, states] = [row, bytes, this.#states]
      step()
      if (row >= FIRST_ROW && bytes < even) step()
      if (!isHeld || first >= even || states !== this.#states) continue
      if (row >= FIRST_ROW) table.holds(row / columns, this.#isFresh(row))
      table.learn(before / columns, first >> 1, row >= FIRST_ROW ? row / columns : -1)
    }
    return { row, bytes, fresh }
  }

  /** Advances by one letter. */
  #step(row: number, letter: number, looks: Allowance): number {
    const known = this.#table[row + letter] as number
    if (known !== UNKNOWN) return known
    looks.left -= LOOKS_PER_TRANSITION + (this.#states[row / this.#columns] as State).waiting.length
    return this.#advance(row, letter)
  }

  #isFresh(row: number): boolean {
    return this.#table[row + this.#columns - 1] === 1
  }

  #walked(row: number, at: number, fresh: number): Walk {
    const states = this.#states
    if (row < FIRST_ROW) {
      const result = row === MATCHED ? 'matched' : 'dead'
      return { result, at, fresh, state: undefined, row, states }
    }
    return { result: 'more', at, fresh, state: states[row / this.#columns], row, states }
  }

  /** The current size of the cache, in numbers. */
  get cached(): number {
    return this.#held
  }

  #begin(before = EDGE): number {
    this.#newRound()
    const matched = this.#spread(this.#program.start)
    const waiting = this.#collect()
    return matched ? MATCHED : this.#rowFor(waiting, before, true)
  }

  /** Fills one cell of the table: the next state for a letter, or for the end of the string. */
  #advance(row: number, letter: number): number {
    charge(UNITS_PER_INSTRUCTION * this.#program.op.length)
    const states = this.#states
    const next = this.#next(states[row / this.#columns] as State, letter)
    // A cache that was cleared in between no longer has the current row.
    if (states === this.#states) this.#table[row + letter] = next
    return next
  }

  #next(state: State, letter: number): number {
    const atEnd = letter === this.#alphabet.size
    const after = atEnd ? EDGE : (this.#alphabet.kinds[letter] as number)
    let active = state.waiting
    if (state.asks) {
      const matched = this.#pass(active, conditions(state.before, after))
      active = this.#collect()
      if (matched) return MATCHED
    }
    if (atEnd) return DEAD

    const matched = this.#read(active, this.#alphabet.samples[letter] as number)
    const waiting = this.#collect()
    if (matched) return MATCHED
    return waiting.length === 0 ? DEAD : this.#rowFor(waiting, after, this.#hasNone)
  }

  /** Advances threads past the conditions that hold; true if one has matched. */
  #pass(waiting: readonly number[], held: number): boolean {
    this.#newRound()
    for (let i = 0; i < waiting.length; i++) {
      if (this.#spread(waiting[i] as number, held)) return true
    }
    return false
  }

  /** Advances threads past a character and starts one after it; true if one has matched. */
  #read(active: readonly number[], code: number): boolean {
    const { arg, out, sets, start } = this.#program
    this.#newRound()
    this.#hasNone = true
    for (let i = 0; i < active.length; i++) {
      const pc = active[i] as number
      if (!contains(sets[arg[pc] as number] as readonly number[], code)) continue
      this.#hasNone = false
      if (this.#spread(out[pc] as number)) return true
    }
    return !this.#anchored && this.#spread(start)
  }

  /** The row of a state, which is created if it does not exist. */
  #rowFor(waiting: readonly number[], before: number, isFresh: boolean): number {
    const asks = waiting.some((pc) => this.#program.op[pc] === ASSERT)
    const state = { waiting, asks, before: asks ? before : OTHER, isFresh }
    const key = String.fromCharCode(state.before + (isFresh ? FRESH : 0), ...waiting)
    const known = this.#rowOf.get(key)
    if (known !== undefined) return known

    const needed = this.#columns + waiting.length + STATE_OVERHEAD
    if (this.#held + needed > this.#largest) this.#forget()
    this.#held += needed
    while (this.#states.length < FIRST_ROW) this.#states.push(state)
    const row = (this.#states.push(state) - 1) * this.#columns
    if (row + this.#columns > this.#table.length) {
      const larger = new Int32Array(Math.max(8 * this.#columns, 2 * row))
      larger.set(this.#table)
      this.#table = larger
    }
    if (isFresh) this.#table[row + this.#columns - 1] = 1
    this.#rowOf.set(key, row)
    return row
  }

  #forget(): void {
    this.#bytes?.forget()
    this.#table.fill(UNKNOWN)
    this.#states = []
    this.#rowOf = new Map()
    this.#held = 0
    this.#start = UNKNOWN
  }

  /**
   * Finds the instructions where threads from here wait, and returns whether one of them has
   * matched. If `held` is not given, threads wait at an ASSERT until both its sides are known.
   */
  #spread(from: number, held = -1): boolean {
    const { op, arg, out } = this.#program
    const seen = this.#seen
    const round = this.#round
    const stack = this.#stack
    for (let pc: number | undefined = from; pc !== undefined; pc = stack.pop()) {
      if (seen[pc] === round) continue
      seen[pc] = round
      const operation = op[pc]
      if (operation === CHAR || (operation === ASSERT && held < 0)) {
        this.#found[pc >> 5] = (this.#found[pc >> 5] as number) | (1 << (pc & 31))
      } else if (operation === SPLIT) {
        stack.push(arg[pc] as number, out[pc] as number)
      } else if (operation === ASSERT) {
        if (((arg[pc] as number) & ~held) === 0) stack.push(out[pc] as number)
      } else if (operation === MATCH) {
        stack.length = 0
        return true
      }
    }
    return false
  }

  #newRound(): void {
    this.#round++
    if (this.#round < 2 ** 31) return
    this.#seen.fill(0)
    this.#round = 1
  }

  /** Returns the instructions found, in order, and clears them for the next search. */
  #collect(): number[] {
    const found = this.#found
    const list: number[] = []
    for (let word = 0; word < found.length; word++) {
      for (let bits = found[word] as number; bits !== 0; bits &= bits - 1) {
        list.push((word << 5) + 31 - Math.clz32(bits & -bits))
      }
      found[word] = 0
    }
    return list
  }

  #onlyAtStart(): boolean {
    const { op, arg, start } = this.#program
    this.#newRound()
    const matched = this.#spread(start)
    const first = this.#collect()
    return (
      !matched && first.every((pc) => op[pc] === ASSERT && ((arg[pc] as number) & BEGIN_TEXT) !== 0)
    )
  }
}

/** The same program without the instructions that only lead to the next one. */
function withoutDetours(program: Program): Program {
  const { op, out, arg } = program
  const arrive = (pc: number) => {
    let end = pc
    while (op[end] === JUMP || op[end] === CAPTURE) end = out[end] as number
    return end
  }
  return {
    ...program,
    start: arrive(program.start),
    out: out.map(arrive),
    arg: arg.map((value, pc) => (op[pc] === SPLIT ? arrive(value) : value)),
  }
}
