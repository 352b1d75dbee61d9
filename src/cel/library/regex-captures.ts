import { contains } from './regex-alphabet.ts'
import { conditions, kindBefore, kindOf } from './regex-conditions.ts'
import { ASSERT, CAPTURE, CHAR, JUMP, MATCH, type Program, SPLIT } from './regex-program.ts'

/** The UTF-16 offsets of the match and its groups; -1 for a group that did not participate. */
export type Captures = readonly number[]

interface Thread {
  readonly pc: number
  readonly slots: Captures
}

/**
 * The first match in the string, from an offset on: of the leftmost matches, the one that the
 * pattern prefers (`a|ab` prefers a, `.*` as much as possible). All threads advance together, in
 * order of preference, so that the cost is at most one visit to every instruction per character.
 */
export function findCaptures(program: Program, text: string, from = 0): Captures | undefined {
  const { op, out, arg, sets } = program
  const seen = new Int32Array(op.length).fill(-1)
  const none: Captures = new Array(2 * program.groups + 2).fill(-1)
  let threads: Thread[] = []
  let found: Captures | undefined

  const starts = startsOf(program)
  for (let at = from; ; ) {
    if (threads.length === 0 && found === undefined && starts !== undefined) {
      at = nextStart(text, at, starts)
      if (at < 0) return undefined
    }
    const code = text.codePointAt(at)
    const held = conditions(kindBefore(text, at), kindOf(code))
    const next: Thread[] = []
    const ready: Thread[] = []
    for (const { pc, slots } of threads) spread(program, pc, slots, at, held, seen, ready)
    if (found === undefined) spread(program, program.start, none, at, held, seen, ready)
    for (const { pc, slots } of ready) {
      if (op[pc] === MATCH) {
        found = slots.with(1, at)
        // The remaining threads are less preferred.
        break
      }
      if (code !== undefined && contains(sets[arg[pc] as number] as readonly number[], code)) {
        next.push({ pc: out[pc] as number, slots })
      }
    }
    if (code === undefined || (next.length === 0 && found !== undefined)) return found
    threads = next
    at += code > 0xffff ? 2 : 1
  }
}

/** The characters that a match can begin with. */
interface Starts {
  /** By code, for ASCII. */
  readonly ascii: Uint8Array
  readonly sets: readonly (readonly number[])[]
}

const STARTS = new WeakMap<Program, Starts | { readonly any: true }>()

/** `undefined` if a match may begin anywhere, because it can be empty or depends on its context. */
function startsOf(program: Program): Starts | undefined {
  let known = STARTS.get(program)
  if (known === undefined) {
    known = findStarts(program) ?? { any: true }
    STARTS.set(program, known)
  }
  return 'any' in known ? undefined : known
}

function findStarts({ op, out, arg, sets, start }: Program): Starts | undefined {
  const found: (readonly number[])[] = []
  const seen = new Set<number>()
  const stack = [start]
  for (let pc = stack.pop(); pc !== undefined; pc = stack.pop()) {
    if (seen.has(pc)) continue
    seen.add(pc)
    if (op[pc] === MATCH || op[pc] === ASSERT) return undefined
    if (op[pc] === CHAR) found.push(sets[arg[pc] as number] as readonly number[])
    else stack.push(out[pc] as number, ...(op[pc] === SPLIT ? [arg[pc] as number] : []))
  }
  const has = (code: number) => found.some((set) => contains(set, code))
  return { ascii: Uint8Array.from({ length: 128 }, (_, code) => Number(has(code))), sets: found }
}

/** The next position where a match can begin; -1 if there is none. */
function nextStart(text: string, from: number, { ascii, sets }: Starts): number {
  for (let at = from; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 128) {
      if (ascii[unit] === 1) return at
      continue
    }
    const code = text.codePointAt(at) as number
    if (sets.some((set) => contains(set, code))) return at
    if (code > 0xffff) at++
  }
  return -1
}

/** Lists the CHAR and MATCH instructions that a thread reaches here, in order of preference. */
function spread(
  { op, out, arg }: Program,
  from: number,
  begun: Captures,
  at: number,
  held: number,
  seen: Int32Array,
  ready: Thread[],
): void {
  const stack: Thread[] = [{ pc: from, slots: begun[0] === -1 ? begun.with(0, at) : begun }]
  for (let thread = stack.pop(); thread !== undefined; thread = stack.pop()) {
    const { pc, slots } = thread
    if (seen[pc] === at) continue
    seen[pc] = at
    const next = out[pc] as number
    switch (op[pc]) {
      case CHAR:
      case MATCH:
        ready.push(thread)
        break
      case JUMP:
        stack.push({ pc: next, slots })
        break
      case SPLIT:
        stack.push({ pc: arg[pc] as number, slots }, { pc: next, slots })
        break
      case CAPTURE:
        stack.push({ pc: next, slots: slots.with(arg[pc] as number, at) })
        break
      case ASSERT:
        if (((arg[pc] as number) & ~held) === 0) stack.push({ pc: next, slots })
        break
    }
  }
}
