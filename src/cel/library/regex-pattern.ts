import { fail, failure } from '../values/failure.ts'
import { charge, isSpent, overBound } from '../values/fuel.ts'
import type { Allowance } from '../values/ledger.ts'
import { Automaton } from './regex-automaton.ts'
import { type Captures, findCaptures } from './regex-captures.ts'
import { compileLiteral } from './regex-literal.ts'
import { compileProgram, type Program } from './regex-program.ts'
import { type Span, SpanSearch } from './regex-span.ts'

/** A compiled pattern in RE2 syntax. `matches` and `find` return `fail` for costly strings. */
export interface Pattern {
  /** Whether the pattern matches somewhere in the string. */
  readonly matches: (text: string) => boolean | undefined
  /**
   * The first match from an offset on: the offsets of it and its groups, or null if there is none.
   */
  readonly find: (text: string, from?: number) => Captures | null | undefined
  /** Like `find`, but in steps and without groups; `looks` is what its strings may still cost. */
  readonly findSteps: (
    text: string,
    from: number,
    looks: Allowance,
  ) => Generator<void, Span | 'spent' | null>
  readonly groups: number
  readonly names: ReadonlyMap<string, number>
}

const MAX_CONSTANT = 10_000
const MAX_DYNAMIC = 1_000
/** Max cost of finding the groups in one string, in instructions visited, regardless of fuel. */
const MAX_WORK = 1 << 22
const MAX_REMEMBERED = 64
/** A pattern that is not constant may come from a client: its classes must take at most 5 ms. */
const MAX_DYNAMIC_CODE_POINTS = 20_000

/** Compiles a pattern that is known when the expression is compiled. */
export function compilePattern(pattern: string): Pattern | undefined {
  if (pattern.length > MAX_CONSTANT) return tooLong()
  return readPattern(pattern)
}

const remembered = new Map<string, Pattern | { readonly invalid: unknown }>()

/** Compiles a pattern known only at run time; the latest ones are cached, even invalid ones. */
export function dynamicPattern(pattern: string): Pattern | undefined {
  if (pattern.length > MAX_DYNAMIC) return tooLong()
  // The charge is the same whether it is cached or not: results must not depend on what ran before.
  charge(100 + 4 * pattern.length)
  let known = remembered.get(pattern)
  if (known === undefined) {
    known = readPattern(pattern, MAX_DYNAMIC_CODE_POINTS) ?? { invalid: failure.detail }
  } else {
    remembered.delete(pattern)
  }
  remembered.set(pattern, known)
  if (remembered.size > MAX_REMEMBERED) {
    remembered.delete(remembered.keys().next().value as string)
  }
  return 'invalid' in known ? fail('invalid regular expression', known.invalid) : known
}

function tooLong(): undefined {
  return fail('invalid regular expression', 'expression too long')
}

function readPattern(pattern: string, maxCodePoints?: number): Pattern | undefined {
  const literal = compileLiteral(pattern)
  if (literal !== undefined) {
    const program = compileProgram(pattern)
    const find = findBy(program, literal)
    const matches = (text: string) => {
      charge(text.length >> 3)
      return literal(text)
    }
    const findSteps = stepsBy(program, undefined, literal)
    return { matches, find, findSteps, groups: 0, names: new Map() }
  }
  const program = compileProgram(pattern, maxCodePoints)
  if (program === undefined) return undefined
  const automaton = new Automaton(program)
  const matches = automatonTest(automaton)
  const find = findBy(program, matches)
  const findSteps = stepsBy(program, automaton)
  return { matches, find, findSteps, groups: program.groups, names: program.names }
}

function findBy(program: Program | undefined, matches: Pattern['matches']): Pattern['find'] {
  return (text, from = 0) => {
    const matched = from > 0 || matches(text)
    if (matched === undefined || program === undefined) return undefined
    if (!matched) return null
    const work = (text.length - from + 1) * program.op.length
    charge(work)
    if (work > MAX_WORK || isSpent()) return tooCostly()
    return findCaptures(program, text, from) ?? null
  }
}

/**
 * `isThere` reports sooner that nothing matches. The search is created on first use: rules never
 * use it.
 */
function stepsBy(
  program: Program | undefined,
  automaton: Automaton | undefined,
  isThere?: (text: string) => boolean,
): Pattern['findSteps'] {
  let search: SpanSearch | undefined
  return function* (text, from, looks) {
    if (program === undefined) return 'spent'
    if (from === 0 && isThere?.(text) === false) return null
    search ??= new SpanSearch(program, automaton ?? new Automaton(program))
    return yield* search.steps(text, from, looks)
  }
}

/** A character takes about 7 ns; the automaton charges for unknown transitions itself. */
function automatonTest(automaton: Automaton): Pattern['matches'] {
  return (text) => {
    charge(text.length - (text.length >> 2))
    return isSpent() ? undefined : automaton.matches(text)
  }
}

function tooCostly(): undefined {
  return overBound('text too long for this regular expression')
}
