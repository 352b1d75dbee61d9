import type { CallTerm } from '../check/term.ts'
import { isKnown } from '../check/trusted-types.ts'

/** Operators for operands of unknown types, as names in ./runtime.ts. */
const OPERATORS = new Map([
  ['_+_', 'add'],
  ['_-_', 'subtract'],
  ['_*_', 'multiply'],
  ['_/_', 'divide'],
  ['_%_', 'modulo'],
  ['-_', 'negate'],
  ['_<_', 'less'],
  ['_<=_', 'lessOrEqual'],
  ['_>_', 'greater'],
  ['_>=_', 'greaterOrEqual'],
  ['size', 'sizeOf'],
  ['contains', 'holds'],
])

export function operatorOf(term: CallTerm): string | undefined {
  return term.exact ? undefined : OPERATORS.get(term.name)
}

const COMPARISONS = new Map([
  ['_<_', '<'],
  ['_<=_', '<='],
  ['_>_', '>'],
  ['_>=_', '>='],
])

/** JavaScript orders ints, both as numbers and as bigints, exactly as CEL does. */
export function comparisonOf(term: CallTerm): string | undefined {
  const isInt =
    term.args.length === 2 && term.args.every((arg) => arg.type.kind === 'int' && isKnown(arg))
  return isInt ? COMPARISONS.get(term.name) : undefined
}
