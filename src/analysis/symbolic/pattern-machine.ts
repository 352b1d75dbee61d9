import { contains, EDGE, NEWLINE, OTHER, WORD } from '../../cel/library/regex-alphabet.ts'
import { conditions } from '../../cel/library/regex-conditions.ts'
import {
  ASSERT,
  CAPTURE,
  CHAR,
  compileProgram,
  JUMP,
  MATCH,
  type Program,
  SPLIT,
} from '../../cel/library/regex-program.ts'

/** A regular expression as an automaton that reads one character at a time. */
export interface PatternMachine {
  readonly start: string
  step(state: string, character: string): string
  /** Whether a string that ends here matches. */
  accepts(state: string): boolean
  /** One character of each class that it distinguishes. */
  readonly characters: readonly string[]
}

/** Small enough that no string of a request is too long for it. */
const LARGEST = 64
const MAX_CHARACTERS = 60
const MATCHED = 'matched'

const MACHINES = new Map<string, PatternMachine | undefined>()
const MAX_REMEMBERED = 256

/** Undefined if it is not a regular expression, or is too large to be analyzed. */
export function patternMachine(pattern: string): PatternMachine | undefined {
  if (MACHINES.has(pattern)) return MACHINES.get(pattern)
  const program = compileProgram(pattern)
  const made = program === undefined || program.op.length > LARGEST ? undefined : machineOf(program)
  if (MACHINES.size >= MAX_REMEMBERED) MACHINES.clear()
  MACHINES.set(pattern, made)
  return made
}

function machineOf(program: Program): PatternMachine | undefined {
  const characters = charactersOf(program)
  if (characters === undefined) return undefined
  const stateOf = (before: number, waiting: ReadonlySet<number> | undefined) =>
    waiting === undefined ? MATCHED : `${before} ${[...waiting].sort((a, b) => a - b).join(',')}`
  const steps = new Map<string, string>()
  const step = (state: string, character: string) => {
    if (state === MATCHED) return MATCHED
    const key = `${state} ${character}`
    const known = steps.get(key)
    if (known !== undefined) return known
    const code = character.codePointAt(0) as number
    const [before, waiting] = read(state)
    const after = kindOf(code)
    const active = spread(program, waiting, conditions(before, after))
    const reached = [...(active ?? [])].flatMap((pc) => {
      const set = program.sets[program.arg[pc] as number] as readonly number[]
      return contains(set, code) ? [program.out[pc] as number] : []
    })
    // A match may begin after any character.
    const next = active && spread(program, [...reached, program.start])
    const found = stateOf(after, next)
    steps.set(key, found)
    return found
  }
  return {
    start: stateOf(EDGE, spread(program, [program.start])),
    step,
    accepts(state) {
      if (state === MATCHED) return true
      const [before, waiting] = read(state)
      return spread(program, waiting, conditions(before, EDGE)) === undefined
    },
    characters,
  }
}

function read(state: string): readonly [before: number, waiting: readonly number[]] {
  const [before = '', waiting = ''] = state.split(' ')
  return [Number(before), waiting === '' ? [] : waiting.split(',').map(Number)]
}

function kindOf(code: number): number {
  if (code === 10) return NEWLINE
  return /^\w$/.test(String.fromCodePoint(code)) ? WORD : OTHER
}

/**
 * The instructions at which threads from here wait: characters, and assertions for which it is
 * unknown what holds. Undefined if a thread has matched.
 */
function spread(
  { op, arg, out }: Program,
  from: readonly number[],
  held?: number,
): ReadonlySet<number> | undefined {
  const waiting = new Set<number>()
  const seen = new Set<number>()
  const stack = [...from]
  for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
    if (seen.has(pc)) continue
    seen.add(pc)
    switch (op[pc]) {
      case MATCH:
        return undefined
      case CHAR:
        waiting.add(pc)
        break
      case ASSERT:
        if (held === undefined) waiting.add(pc)
        else if (((arg[pc] as number) & ~held) === 0) stack.push(out[pc] as number)
        break
      case SPLIT:
        stack.push(arg[pc] as number, out[pc] as number)
        break
      case JUMP:
      case CAPTURE:
        stack.push(out[pc] as number)
        break
    }
  }
  return waiting
}

/** The ends of all ranges and their neighbors; undefined if there are too many. */
function charactersOf({ sets }: Program): readonly string[] | undefined {
  const codes = new Set<number>([10, 97])
  for (const ranges of sets) {
    for (let at = 0; at < ranges.length; at += 2) {
      const [first, last] = [ranges[at] as number, ranges[at + 1] as number]
      for (const code of [first, last, first - 1, last + 1]) {
        if (code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff)) codes.add(code)
      }
    }
    if (codes.size > MAX_CHARACTERS) return undefined
  }
  return [...codes].map((code) => String.fromCodePoint(code))
}
