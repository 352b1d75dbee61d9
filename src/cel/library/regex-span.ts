import type { Allowance } from '../values/ledger.ts'
import { contains } from './regex-alphabet.ts'
import type { Automaton } from './regex-automaton.ts'
import { conditions, kindBefore, kindOf } from './regex-conditions.ts'
import { ASSERT, CAPTURE, CHAR, JUMP, MATCH, type Program, SPLIT } from './regex-program.ts'

/** The UTF-16 offsets where a match begins and ends. */
export interface Span {
  readonly start: number
  readonly end: number
}

/** Characters that the automaton reads in one step. */
const STEP = 1 << 15
/** Characters after which the search checks whether some can be skipped. */
const SHORT_PIECE = 1 << 7
/** Looks at instructions in one step. */
const STEP_LOOKS = 1 << 13
/** The cost of beginning a search, in looks. */
const BEGIN = 16

/**
 * The first match from an offset on, without its groups, in steps between which others can run. The
 * automaton reads the string up to the end of a match, which takes nanoseconds per character; the
 * threads, whose looks are charged, run only from the earliest start of that match on. 'spent': no
 * looks were left. Across all matches in a string, the automaton reads no character twice.
 */
export class SpanSearch {
  readonly #program: Program
  readonly #automaton: Automaton
  /** For each set, which ASCII characters are in it. */
  readonly #ascii: readonly Uint8Array[]
  /** What a match begins and ends with, for V8 to search for; `undefined`: no such class. */
  readonly #beginning: RegExp | undefined
  readonly #ending: RegExp | undefined

  constructor(program: Program, automaton: Automaton) {
    this.#program = program
    this.#automaton = automaton
    this.#ascii = program.sets.map((set) =>
      Uint8Array.from({ length: 128 }, (_, code) => Number(contains(set, code))),
    )
    this.#beginning = beginningOf(program)
    this.#ending = endingOf(program)
  }

  *steps(text: string, from: number, looks: Allowance): Generator<void, Span | 'spent' | null> {
    looks.left -= BEGIN
    if (looks.left < 0) return 'spent'
    const automaton = this.#automaton
    let piece = this.#beginning === undefined ? STEP : SHORT_PIECE
    let at = this.#skip(text, from)
    // Wherever a match begins, it must also end.
    if (!this.#mayEnd(text, at)) return null
    let pause = at + STEP
    /** The looks left for this step. */
    const own = { left: STEP_LOOKS }
    let walk = automaton.open(text, at)
    while (walk.result === 'more') {
      if (at > pause || own.left < 0) {
        yield
        if (!this.#mayEnd(text, at)) return null
        pause = at + STEP
        own.left = STEP_LOOKS
      }
      const before = own.left
      walk = automaton.walk(walk, text, Math.min(text.length, at + piece), own)
      looks.left -= before - own.left
      if (looks.left < 0) return 'spent'
      at = walk.at
      if (walk.result === 'spent') {
        walk = { ...walk, result: 'more' }
        continue
      }
      if (piece === STEP || walk.result !== 'more') continue
      const next = walk.fresh < at ? at : this.#skip(text, at)
      // If a match may begin everywhere, the automaton is faster.
      if (next < at + piece) piece *= 2
      if (next > at) walk = automaton.open(text, next)
      at = next
    }
    return walk.result === 'dead' ? null : yield* this.#threads(text, walk.fresh, looks)
  }

  #mayEnd(text: string, from: number): boolean {
    const ending = this.#ending
    if (ending === undefined) return true
    ending.lastIndex = from
    return ending.test(text)
  }

  /** Skips to where a match may begin, given that none is in progress. */
  #skip(text: string, from: number): number {
    const beginning = this.#beginning
    if (beginning === undefined) return from
    beginning.lastIndex = from
    return beginning.test(text) ? beginning.lastIndex - 1 : text.length
  }

  /**
   * As in ./regex-captures.ts, all threads advance together, in order of preference. Each thread
   * records only where it began.
   */
  *#threads(text: string, from: number, looks: Allowance): Generator<void, Span | 'spent' | null> {
    const { op, out, arg, sets, start: first } = this.#program
    const round = new Round(this.#program)
    const ascii = this.#ascii
    let waiting: Threads = new Threads(op.length)
    let next: Threads = new Threads(op.length)
    let found: Span | undefined
    let pause = looks.left - STEP_LOOKS
    for (let at = from; ; ) {
      const code = text.codePointAt(at)
      const held = conditions(kindBefore(text, at), kindOf(code))
      round.begin()
      for (let i = 0; i < waiting.size; i++) {
        round.spread(waiting.pc[i] as number, waiting.start[i] as number, held)
      }
      if (found === undefined) round.spread(first, at, held)
      // A character costs as much as a few instructions, even if no thread waits for it.
      looks.left -= round.ready.size + 2
      if (looks.left < 0) return 'spent'
      next.size = 0
      const { pc, start, size } = round.ready
      for (let i = 0; i < size; i++) {
        const own = pc[i] as number
        if (op[own] === MATCH) {
          found = { start: start[i] as number, end: at }
          // The remaining threads are less preferred.
          break
        }
        if (code === undefined) continue
        const set = arg[own] as number
        const isIn =
          code < 128
            ? (ascii[set] as Uint8Array)[code] === 1
            : contains(sets[set] as readonly number[], code)
        if (isIn) next.add(out[own] as number, start[i] as number)
      }
      if (code === undefined || (next.size === 0 && found !== undefined)) return found ?? null
      const own = waiting
      waiting = next
      next = own
      at += code > 0xffff ? 2 : 1
      if (looks.left > pause) continue
      pause = looks.left - STEP_LOOKS
      yield
    }
  }
}

/** Max ranges of characters that are worth searching for. */
const MAX_RANGES = 16

/** `undefined` if a match may be empty, or begin with too many characters. */
function beginningOf({ op, out, arg, sets, start }: Program): RegExp | undefined {
  const found: (readonly number[])[] = []
  const seen = new Set<number>()
  const stack = [start]
  for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
    if (seen.has(pc)) continue
    seen.add(pc)
    if (op[pc] === MATCH) return undefined
    if (op[pc] === CHAR) found.push(sets[arg[pc] as number] as readonly number[])
    else stack.push(out[pc] as number, ...(op[pc] === SPLIT ? [arg[pc] as number] : []))
  }
  return classOf(found)
}

/** `undefined` if a match may be empty, or end with too many characters. */
function endingOf(program: Program): RegExp | undefined {
  const { op, out, arg, sets, start } = program
  /** Instructions that lead to a match without reading anything more. */
  const isOver = new Uint8Array(op.length)
  for (let isMore = true; isMore; ) {
    isMore = false
    for (let pc = op.length - 1; pc >= 0; pc--) {
      if (isOver[pc] === 1 || op[pc] === CHAR) continue
      const second = op[pc] === SPLIT && isOver[arg[pc] as number] === 1
      const isOwn = op[pc] === MATCH || (LEADS_ON.has(op[pc]) && isOver[out[pc] as number] === 1)
      if (!isOwn && !second) continue
      isOver[pc] = 1
      isMore = true
    }
  }
  if (isOver[start] === 1) return undefined
  const isLast = (pc: number) => op[pc] === CHAR && isOver[out[pc] as number] === 1
  const last = [...op.keys()].filter(isLast)
  return classOf(last.map((pc) => sets[arg[pc] as number] as readonly number[]))
}

const LEADS_ON: ReadonlySet<number | undefined> = new Set([SPLIT, JUMP, CAPTURE, ASSERT])

/** A class of ranges of characters; `undefined` if there are too many. */
function classOf(sets: readonly (readonly number[])[]): RegExp | undefined {
  const ranges = [...new Set(sets)].flat()
  if (ranges.length > 2 * MAX_RANGES) return undefined
  // A character that takes two units begins with a surrogate.
  const unit = (code: number) => Math.min(code, 0xffff).toString(16).padStart(4, '0')
  const parts = ranges.flatMap((first, at) => {
    const last = ranges[at + 1] as number
    if (at % 2 === 1) return []
    return [`\\u${unit(first)}-\\u${unit(last)}`, ...(last > 0xffff ? ['\\ud800-\\udfff'] : [])]
  })
  return new RegExp(`[${parts.join('')}]`, 'g')
}

/** Threads in order of preference. */
class Threads {
  readonly pc: Uint16Array
  readonly start: Int32Array
  size = 0

  constructor(max: number) {
    this.pc = new Uint16Array(max)
    this.start = new Int32Array(max)
  }

  add(pc: number, start: number): void {
    this.pc[this.size] = pc
    this.start[this.size++] = start
  }
}

/** The instructions that threads reach before one character. */
class Round {
  /** Threads at CHAR and MATCH. */
  readonly ready: Threads
  readonly #program: Program
  readonly #seen: Int32Array
  readonly #stack: Uint16Array
  #round = 0

  constructor(program: Program) {
    const { length } = program.op
    this.#program = program
    this.#seen = new Int32Array(length)
    // Each instruction is popped once, and pushes at most two.
    this.#stack = new Uint16Array(2 * length + 1)
    this.ready = new Threads(length)
  }

  begin(): void {
    this.#round++
    this.ready.size = 0
  }

  spread(from: number, start: number, held: number): void {
    const { op, out, arg } = this.#program
    const [seen, stack, round] = [this.#seen, this.#stack, this.#round]
    let size = 0
    for (let pc = from; ; pc = stack[--size] as number) {
      if (seen[pc] !== round) {
        seen[pc] = round
        switch (op[pc]) {
          case CHAR:
          case MATCH:
            this.ready.add(pc, start)
            break
          case SPLIT:
            stack[size++] = arg[pc] as number
            stack[size++] = out[pc] as number
            break
          case JUMP:
          case CAPTURE:
            stack[size++] = out[pc] as number
            break
          case ASSERT:
            if (((arg[pc] as number) & ~held) === 0) stack[size++] = out[pc] as number
            break
        }
      }
      if (size === 0) return
    }
  }
}
