import {
  ASSERT,
  BEGIN_LINE,
  END_LINE,
  NO_WORD_BOUNDARY,
  type Program,
  WORD_BOUNDARY,
} from './regex-program.ts'

/** The kind of the characters before and after a position, as far as conditions depend on it. */
export const OTHER = 0
export const NEWLINE = 1
export const WORD = 2
/** Before the first and after the last character. */
export const EDGE = 3

const WORD_RANGES = [0x30, 0x39, 0x41, 0x5a, 0x5f, 0x5f, 0x61, 0x7a]
const NEWLINE_RANGES = [0x0a, 0x0a]

/**
 * Code points that a program cannot distinguish share a letter, so that a transition table has one
 * column per letter (about ten) instead of one per code point.
 */
export interface Alphabet {
  readonly size: number
  /** The letter of each ASCII character. */
  readonly ascii: Uint16Array
  /** The start of each run of code points with the same letter, and that letter. */
  readonly starts: Int32Array
  readonly letters: Uint16Array
  /** One code point of each letter, and its kind. */
  readonly samples: Int32Array
  readonly kinds: Uint8Array
}

export function alphabetOf(program: Program): Alphabet {
  const asked = conditionsOf(program)
  const sets = [...program.sets]
  if (asked & (BEGIN_LINE | END_LINE)) sets.push(NEWLINE_RANGES)
  if (asked & (WORD_BOUNDARY | NO_WORD_BOUNDARY)) sets.push(WORD_RANGES)

  const bounds = boundsOf(sets)
  const marks = new Int32Array(bounds.length)
  let fresh = 1
  for (const set of sets) fresh = refine(bounds, marks, set, fresh)

  const starts: number[] = []
  const letters: number[] = []
  const samples: number[] = []
  const letterOfMark = new Map<number, number>()
  for (const [run, mark] of marks.entries()) {
    if (run > 0 && mark === marks[run - 1]) continue
    const letter = letterOfMark.get(mark) ?? samples.push(bounds[run] as number) - 1
    letterOfMark.set(mark, letter)
    starts.push(bounds[run] as number)
    letters.push(letter)
  }
  const alphabet = {
    size: samples.length,
    ascii: new Uint16Array(128),
    starts: Int32Array.from(starts),
    letters: Uint16Array.from(letters),
    samples: Int32Array.from(samples),
    kinds: Uint8Array.from(samples, (sample) => kindOf(sample, asked)),
  }
  for (let code = 0; code < 128; code++) alphabet.ascii[code] = letterOf(alphabet, code)
  return alphabet
}

export function letterOf(alphabet: Alphabet, code: number): number {
  return alphabet.letters[runOf(alphabet.starts, code)] as number
}

export function contains(ranges: readonly number[], code: number): boolean {
  let low = 0
  let high = ranges.length >> 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (code < (ranges[2 * middle] as number)) high = middle
    else if (code > (ranges[2 * middle + 1] as number)) low = middle + 1
    else return true
  }
  return false
}

function conditionsOf({ op, arg }: Program): number {
  let asked = 0
  for (let pc = 0; pc < op.length; pc++) if (op[pc] === ASSERT) asked |= arg[pc] as number
  return asked
}

function kindOf(code: number, asked: number): number {
  if (asked & (BEGIN_LINE | END_LINE) && code === 0x0a) return NEWLINE
  if (asked & (WORD_BOUNDARY | NO_WORD_BOUNDARY) && contains(WORD_RANGES, code)) return WORD
  return OTHER
}

function boundsOf(sets: readonly (readonly number[])[]): Int32Array {
  const bounds = new Set([0])
  for (const ranges of sets) {
    for (let i = 0; i < ranges.length; i += 2) {
      bounds.add(ranges[i] as number)
      bounds.add((ranges[i + 1] as number) + 1)
    }
  }
  return Int32Array.from(bounds).sort()
}

/** Marks the runs inside the set differently from those outside; returns the next free mark. */
function refine(
  bounds: Int32Array,
  marks: Int32Array,
  set: readonly number[],
  fresh: number,
): number {
  const inside = new Map<number, number>()
  for (let i = 0; i < set.length; i += 2) {
    const last = set[i + 1] as number
    for (let run = runOf(bounds, set[i] as number); (bounds[run] as number) <= last; run++) {
      const mark = marks[run] as number
      const instead = inside.get(mark) ?? fresh + inside.size
      inside.set(mark, instead)
      marks[run] = instead
    }
  }
  return fresh + inside.size
}

/** The run that contains a code point. */
function runOf(starts: Int32Array, code: number): number {
  let low = 0
  let high = starts.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((starts[middle] as number) <= code) low = middle
    else high = middle
  }
  return low
}
