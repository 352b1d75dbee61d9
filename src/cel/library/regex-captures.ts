import { contains, EDGE, NEWLINE, OTHER, WORD } from './regex-alphabet.ts'
import { conditions } from './regex-automaton.ts'
import { ASSERT, CAPTURE, CHAR, JUMP, MATCH, type Program, SPLIT } from './regex-program.ts'

/** Where the match and its groups begin and end, as UTF-16 offsets; -1 for a group not taken. */
export type Captures = readonly number[]

interface Thread {
  readonly pc: number
  readonly slots: Captures
}

/**
 * The first match in the text, from an offset on: of those that begin leftmost the one that the pattern prefers
 * (`a|ab` takes a, `.*` as much as it can). All threads advance together, in order of preference,
 * so that the cost is at most one look at every instruction per character.
 */
export function findCaptures(program: Program, text: string, from = 0): Captures | undefined {
  const { op, out, arg, sets } = program
  const seen = new Int32Array(op.length).fill(-1)
  const none: Captures = new Array(2 * program.groups + 2).fill(-1)
  let threads: Thread[] = []
  let found: Captures | undefined

  for (let at = from; ; ) {
    const code = text.codePointAt(at)
    const held = conditions(kindBefore(text, at), kindOf(code))
    const next: Thread[] = []
    const ready: Thread[] = []
    for (const { pc, slots } of threads) spread(program, pc, slots, at, held, seen, ready)
    if (found === undefined) spread(program, program.start, none, at, held, seen, ready)
    for (const { pc, slots } of ready) {
      if (op[pc] === MATCH) {
        found = slots.with(1, at)
        // Those behind are less preferred.
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

/** Lists the CHAR and MATCH instructions that a thread reaches here, the preferred ones first. */
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

function kindBefore(text: string, at: number): number {
  return at === 0 ? EDGE : kindOf(text.charCodeAt(at - 1))
}

function kindOf(code: number | undefined): number {
  if (code === undefined) return EDGE
  if (code === 0x0a) return NEWLINE
  const isWord =
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x5f ||
    (code >= 0x61 && code <= 0x7a)
  return isWord ? WORD : OTHER
}
