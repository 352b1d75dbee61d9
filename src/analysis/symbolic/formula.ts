import type { Unknown } from './unknown.ts'

/** A condition on unknowns, in two-valued logic: errors are separated beforehand. */
export type Formula = Constant | Literal | Compound

export interface Constant {
  readonly kind: 'constant'
  readonly value: boolean
}

/** The unknown is one of these possibilities. */
export interface Literal {
  readonly kind: 'literal'
  readonly unknown: Unknown
  /** A 1 for each of these possibilities. */
  readonly meant: Uint8Array
}

export interface Compound {
  readonly kind: 'all' | 'any'
  readonly parts: readonly Formula[]
}

export const ALWAYS: Constant = { kind: 'constant', value: true }
export const NEVER: Constant = { kind: 'constant', value: false }

export function all(parts: readonly Formula[]): Formula {
  return compound('all', parts)
}

export function any(parts: readonly Formula[]): Formula {
  return compound('any', parts)
}

function compound(kind: 'all' | 'any', parts: readonly Formula[]): Formula {
  const decisive = kind === 'any'
  const kept: Formula[] = []
  for (const part of parts) {
    if (part.kind === 'constant') {
      if (part.value === decisive) return part
    } else if (part.kind === kind) kept.push(...part.parts)
    else kept.push(part)
  }
  if (kept.length === 0) return decisive ? NEVER : ALWAYS
  return kept.length === 1 ? (kept[0] as Formula) : { kind, parts: kept }
}

export function literal(unknown: Unknown, test: (index: number) => boolean): Formula {
  const { length } = unknown.possibilities
  const meant = new Uint8Array(length)
  let count = 0
  for (let i = 0; i < length; i++) {
    if (!test(i)) continue
    meant[i] = 1
    count++
  }
  if (count === 0) return NEVER
  return count === length ? ALWAYS : { kind: 'literal', unknown, meant }
}

export function negation(formula: Formula): Formula {
  switch (formula.kind) {
    case 'constant':
      return formula.value ? NEVER : ALWAYS
    case 'literal':
      return literal(formula.unknown, (index) => formula.meant[index] === 0)
    case 'all':
      return any(formula.parts.map(negation))
    case 'any':
      return all(formula.parts.map(negation))
  }
}
