import { RE2JS } from '@bufbuild/re2'
import { fail } from '../values/failure.ts'
import { regexSize } from './regex-size.ts'

/** The instructions of a program; only CHAR reads a character. */
export const SPLIT = 1
export const JUMP = 2
export const CAPTURE = 3
export const ASSERT = 4
const FAIL = 5
export const MATCH = 6
export const CHAR = 7

/** Conditions of an ASSERT, as bits of its argument. */
export const BEGIN_LINE = 0x01
export const END_LINE = 0x02
export const BEGIN_TEXT = 0x04
export const END_TEXT = 0x08
export const WORD_BOUNDARY = 0x10
export const NO_WORD_BOUNDARY = 0x20

/**
 * A pattern in RE2 syntax, compiled for a machine with one thread per alternative. @bufbuild/re2
 * parses and compiles the syntax; its matcher is not used, since it takes microseconds where
 * ./regex-automaton.ts takes nanoseconds, and retains megabytes per pattern.
 */
export interface Program {
  readonly op: Uint8Array
  /** The next instruction. */
  readonly out: Uint16Array
  /** The second choice of SPLIT, slot of CAPTURE, conditions of ASSERT, or set of CHAR. */
  readonly arg: Uint16Array
  /** Sorted, disjoint ranges of code points: first, last, first, last… */
  readonly sets: readonly (readonly number[])[]
  readonly start: number
  /** The number of capture groups, not counting the whole match. */
  readonly groups: number
  readonly names: ReadonlyMap<string, number>
}

/** Limits the cost of a thread per character: [a-z]{1,1000} fits, squared it does not. */
export const MAX_PROGRAM = 4_000
/** Enough for one case-insensitive range over all scripts, which takes 30 ms. */
const MAX_CODE_POINTS = 150_000

type Instruction = ReturnType<RE2JS['re2']>['prog']['inst'][number]

/** `undefined`, with the reason in `fail`, if the pattern is invalid or too large. */
export function compileProgram(
  pattern: string,
  maxCodePoints = MAX_CODE_POINTS,
): Program | undefined {
  const size = regexSize(pattern)
  if (size.instructions > MAX_PROGRAM || size.codePoints > maxCodePoints) return tooLarge()
  try {
    const engine = RE2JS.compile(pattern).re2()
    const { inst, start } = engine.prog
    if (inst.length > MAX_PROGRAM) return tooLarge()
    return {
      ...readInstructions(inst),
      start,
      groups: engine.numberOfCapturingGroups(),
      names: engine.namedGroups,
    }
  } catch (error) {
    if (LOOK_AROUND.test(pattern)) {
      return fail(
        'invalid regular expression',
        'look-around is not supported: matching takes linear time',
      )
    }
    const message = error instanceof Error ? error.message : ''
    return fail('invalid regular expression', message.replace(/^error parsing regexp: /, ''))
  }
}

/** Also inside brackets, but such a pattern is valid. */
const LOOK_AROUND = /\(\?<?[=!]/

function tooLarge(): undefined {
  return fail('invalid regular expression', 'expression too large')
}

function readInstructions(inst: readonly Instruction[]) {
  const op = new Uint8Array(inst.length)
  const out = new Uint16Array(inst.length)
  const arg = new Uint16Array(inst.length)
  const sets: (readonly number[])[] = []
  const known = new Map<string, number>()
  const indexOfSet = (ranges: readonly number[]) => {
    const key = ranges.join()
    const index = known.get(key) ?? sets.push(ranges) - 1
    known.set(key, index)
    return index
  }
  for (const [pc, instruction] of inst.entries()) {
    op[pc] = OPERATIONS[instruction.op] ?? FAIL
    out[pc] = instruction.out
    arg[pc] = op[pc] === CHAR ? indexOfSet(rangesOf(instruction)) : instruction.arg
  }
  return { op, out, arg, sets }
}

/**
 * Indexed by the engine's numbers: ALT, ALT_MATCH, CAPTURE, EMPTY_WIDTH, FAIL, MATCH, NOP, four
 * RUNEs.
 */
const OPERATIONS = [
  FAIL,
  SPLIT,
  SPLIT,
  CAPTURE,
  ASSERT,
  FAIL,
  MATCH,
  JUMP,
  CHAR,
  CHAR,
  CHAR,
  CHAR,
] as const
const FOLD_CASE = 1

function rangesOf(instruction: Instruction): readonly number[] {
  const [first, second] = instruction.runes
  if (first === undefined || second !== undefined) return instruction.runes
  return (instruction.arg & FOLD_CASE) === 0 ? [first, first] : foldedRanges(first)
}

const folded = new Map<number, readonly number[]>()

/** The engine reveals the other cases of a letter only inside a class of two. */
function foldedRanges(code: number): readonly number[] {
  const known = folded.get(code)
  if (known !== undefined) return known
  const pair = RE2JS.compile(`(?i)[0\\x{${code.toString(16)}}]`).re2().prog.inst
  const ranges = pair.find(({ runes }) => runes.length > 2)?.runes.slice(2) ?? [code, code]
  folded.set(code, ranges)
  return ranges
}
