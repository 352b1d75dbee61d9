import type { Value } from '../values/value.ts'

/** UTF-16 offsets into the text of the expression, end exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * The output of the parser: names as written and no types, which the checker's Term has. Macros
 * have dedicated nodes instead of CEL's generic fold, so that each can be run, explained and
 * indexed as what it is.
 */
export type Expr =
  | Literal
  | Ident
  | Select
  | Index
  | Call
  | Logic
  | Not
  | Conditional
  | ListExpr
  | MapExpr
  | MessageExpr
  | Comprehension
  | Bind
  | OptMap

export interface Literal extends Span {
  readonly kind: 'literal'
  readonly value: Value
}

export interface Ident extends Span {
  readonly kind: 'ident'
  /** As written; a leading dot (`.x`, absolute) is kept. */
  readonly name: string
}

/** `x.field`, `x.?field`, or `has(x.field)` if `test` is set. */
export interface Select extends Span {
  readonly kind: 'select'
  readonly operand: Expr
  readonly field: string
  readonly optional: boolean
  readonly test: boolean
}

/** `x[i]` and `x[?i]`. */
export interface Index extends Span {
  readonly kind: 'index'
  readonly operand: Expr
  readonly index: Expr
  readonly optional: boolean
}

/** A function, a method, or an operator without a dedicated node (`_+_`). */
export interface Call extends Span {
  readonly kind: 'call'
  readonly name: string
  readonly target: Expr | undefined
  readonly args: readonly Expr[]
}

export interface Logic extends Span {
  readonly kind: 'and' | 'or'
  readonly left: Expr
  readonly right: Expr
}

export interface Not extends Span {
  readonly kind: 'not'
  readonly operand: Expr
}

export interface Conditional extends Span {
  readonly kind: 'conditional'
  readonly condition: Expr
  readonly whenTrue: Expr
  readonly whenFalse: Expr
}

export interface ListExpr extends Span {
  readonly kind: 'list'
  readonly elements: readonly ListElement[]
}

export interface ListElement {
  readonly value: Expr
  /** `[?x]`: omitted if x is none. */
  readonly optional: boolean
}

export interface MapExpr extends Span {
  readonly kind: 'map'
  readonly entries: readonly MapEntry[]
}

export interface MapEntry {
  readonly key: Expr
  readonly value: Expr
  readonly optional: boolean
}

/** `pkg.Message{field: value}`: parsed so that the checker can report it as unsupported. */
export interface MessageExpr extends Span {
  readonly kind: 'message'
  readonly name: string
}

export type Macro =
  | 'all'
  | 'exists'
  | 'existsOne'
  | 'map'
  | 'filter'
  | 'transformList'
  | 'transformMap'
  | 'transformMapEntry'

export interface Comprehension extends Span {
  readonly kind: 'comprehension'
  readonly macro: Macro
  readonly range: Expr
  /** The element (for a map, the key). With `second`: the index or key. */
  readonly first: string
  readonly second: string | undefined
  readonly filter: Expr | undefined
  readonly body: Expr
}

/**
 * `cel.bind(name, value, body)`, or `value.with(name, body)` if `strict` is set: then an error of
 * the value is an error of the whole, whether or not the body reads it.
 */
export interface Bind extends Span {
  readonly kind: 'bind'
  readonly name: string
  readonly value: Expr
  readonly body: Expr
  readonly strict: boolean
}

/** `x.optMap(v, body)`, or `x.optFlatMap(v, body)` if `flat`. */
export interface OptMap extends Span {
  readonly kind: 'optMap'
  readonly target: Expr
  readonly name: string
  readonly body: Expr
  readonly flat: boolean
}
