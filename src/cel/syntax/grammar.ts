import { Double } from '../values/number.ts'
import type { Value } from '../values/value.ts'
import type { Expr } from './ast.ts'
import type { TokenKind } from './lexer.ts'

/** Words that CEL reserves for future use: invalid as variables, but valid as fields. */
export const RESERVED = new Set(
  `as break const continue else for function if import let loop package namespace return var void
   while`.split(/\s+/),
)

const RELATION = 3
export const PRECEDENCE = new Map<TokenKind, number>([
  ['||', 1],
  ['&&', 2],
  ['==', RELATION],
  ['!=', RELATION],
  ['<', RELATION],
  ['<=', RELATION],
  ['>', RELATION],
  ['>=', RELATION],
  ['in', RELATION],
  ['+', 4],
  ['-', 4],
  ['*', 5],
  ['/', 5],
  ['%', 5],
])

/** Builds a balanced tree from the operands of a chain. */
export function balance(
  operands: readonly Expr[],
  kind: 'and' | 'or',
  from: number,
  to: number,
): Expr {
  if (to - from === 1) return operands[from] as Expr
  const middle = (from + to) >> 1
  const left = balance(operands, kind, from, middle)
  const right = balance(operands, kind, middle, to)
  return { kind, left, right, start: left.start, end: right.end }
}

export function isSignable(value: Value): value is number | bigint | Double {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Double
}

export function negated(value: number | bigint | Double): Value {
  if (value instanceof Double) return new Double(-value.value)
  return value === 0 ? 0 : -value
}

/** The dotted name that this expression spells, or '' if it is not one. */
export function qualifiedName(expr: Expr): string {
  if (expr.kind === 'ident') return expr.name
  if (expr.kind !== 'select' || expr.optional || expr.test) return ''
  const operand = qualifiedName(expr.operand)
  return operand === '' ? '' : `${operand}.${expr.field}`
}
