import { isIn } from '../library/operators.ts'
import { equals } from '../values/equal.ts'
import { LiteralMap } from '../values/map.ts'
import type { Value } from '../values/value.ts'
import type { Term } from './term.ts'

/** The constant that this term always evaluates to, if its operands determine it; else the term. */
export function fold(term: Term): Term {
  const value = constantOf(term)
  if (value === undefined) return reduced(term)
  return { kind: 'constant', value, type: term.type, start: term.start, end: term.end }
}

/** `undefined`: not constant, or a constant error, which explain mode reports at run time. */
function constantOf(term: Term): Value | undefined {
  switch (term.kind) {
    case 'and':
      if (isConstant(term.left, false) || isConstant(term.right, false)) return false
      return isConstant(term.left, true) && isConstant(term.right, true) ? true : undefined
    case 'or':
      if (isConstant(term.left, true) || isConstant(term.right, true)) return true
      return isConstant(term.left, false) && isConstant(term.right, false) ? false : undefined
    case 'not':
      if (isConstant(term.operand, true)) return false
      return isConstant(term.operand, false) ? true : undefined
    case 'equal':
      if (term.left.kind !== 'constant' || term.right.kind !== 'constant') return undefined
      return equals(term.left.value, term.right.value) !== term.negated
    case 'member':
      if (term.element.kind !== 'constant' || term.container.kind !== 'constant') return undefined
      return isIn(term.element.value, term.container.value)
    case 'list': {
      const values: Value[] = []
      for (const { value, optional } of term.elements) {
        if (optional || value.kind !== 'constant') return undefined
        values.push(value.value)
      }
      return values
    }
    case 'map': {
      const entries: [Value, Value][] = []
      for (const { key, value, optional } of term.entries) {
        if (optional || key.kind !== 'constant' || value.kind !== 'constant') return undefined
        entries.push([key.value, value.value])
      }
      return LiteralMap.of(entries)
    }
    default:
      return undefined
  }
}

/** `true && x` becomes x, and `c ? a : b` one of its branches, if known to be equivalent. */
function reduced(term: Term): Term {
  switch (term.kind) {
    case 'and':
    case 'or': {
      const neutral = term.kind === 'and'
      if (isConstant(term.left, neutral) && term.right.type.kind === 'bool') return term.right
      if (isConstant(term.right, neutral) && term.left.type.kind === 'bool') return term.left
      return term
    }
    case 'conditional':
      if (isConstant(term.condition, true)) return term.whenTrue
      return isConstant(term.condition, false) ? term.whenFalse : term
    default:
      return term
  }
}

function isConstant(term: Term, value: boolean): boolean {
  return term.kind === 'constant' && term.value === value
}
