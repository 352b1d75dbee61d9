import type { Overload, Prepared } from '../library/define.ts'
import type { Macro, Span } from '../syntax/ast.ts'
import type { Value } from '../values/value.ts'
import { DYN, type Type } from './types.ts'

/**
 * A checked expression: names are resolved, every node has a type, and constants are folded. The
 * emitters, explain mode and the rule index work on terms; none of them uses the syntax tree.
 */
export type Term =
  | ConstantTerm
  | InvalidTerm
  | VariableTerm
  | LocalTerm
  | FieldTerm
  | IndexTerm
  | EqualTerm
  | MemberTerm
  | CallTerm
  | LogicTerm
  | NotTerm
  | ConditionalTerm
  | ListTerm
  | MapTerm
  | LoopTerm
  | BindTerm
  | OptMapTerm
  | FallbackTerm
  | CoalesceTerm

interface Typed extends Span {
  readonly type: Type
}

export interface ConstantTerm extends Typed {
  readonly kind: 'constant'
  readonly value: Value
}

/** Always an error: an unknown name in an expression that was not checked. */
export interface InvalidTerm extends Typed {
  readonly kind: 'invalid'
  readonly reason: string
}

export interface VariableTerm extends Typed {
  readonly kind: 'variable'
  readonly name: string
}

/** A variable of a loop or bind; `slot` is unique in the expression. */
export interface LocalTerm extends Typed {
  readonly kind: 'local'
  readonly name: string
  readonly slot: number
  /** See ./trusted-types.ts. */
  readonly known: boolean
  readonly declared: boolean
}

export type Access = 'get' | 'test' | 'optional'

export interface FieldTerm extends Typed {
  readonly kind: 'field'
  readonly operand: Term
  readonly field: string
  readonly access: Access
}

export interface IndexTerm extends Typed {
  readonly kind: 'index'
  readonly operand: Term
  readonly index: Term
  readonly optional: boolean
}

/** `==`, or `!=` if `negated`. */
export interface EqualTerm extends Typed {
  readonly kind: 'equal'
  readonly left: Term
  readonly right: Term
  readonly negated: boolean
}

/** `element in container` */
export interface MemberTerm extends Typed {
  readonly kind: 'member'
  readonly element: Term
  readonly container: Term
}

export interface CallTerm extends Typed {
  readonly kind: 'call'
  readonly name: string
  readonly args: readonly Term[]
  /** The overloads that fit the static types; if there are several, the values select one. */
  readonly overloads: readonly Overload[]
  /** One overload is left, and the static types guarantee values of exactly its parameter types. */
  readonly exact: boolean
  /** A function specialized for these constant arguments, such as a compiled pattern. */
  readonly prepared: Prepared | undefined
}

export interface LogicTerm extends Typed {
  readonly kind: 'and' | 'or'
  readonly left: Term
  readonly right: Term
}

export interface NotTerm extends Typed {
  readonly kind: 'not'
  readonly operand: Term
}

export interface ConditionalTerm extends Typed {
  readonly kind: 'conditional'
  readonly condition: Term
  readonly whenTrue: Term
  readonly whenFalse: Term
}

export interface ListTerm extends Typed {
  readonly kind: 'list'
  readonly elements: readonly { readonly value: Term; readonly optional: boolean }[]
}

export interface MapTerm extends Typed {
  readonly kind: 'map'
  readonly entries: readonly MapTermEntry[]
}

export interface MapTermEntry {
  readonly key: Term
  readonly value: Term
  readonly optional: boolean
}

export interface LoopTerm extends Typed {
  readonly kind: 'loop'
  readonly macro: Macro
  readonly range: Term
  readonly first: LocalTerm
  readonly second: LocalTerm | undefined
  readonly filter: Term | undefined
  readonly body: Term
}

export interface BindTerm extends Typed {
  readonly kind: 'bind'
  readonly local: LocalTerm
  readonly value: Term
  readonly body: Term
  /** An error in the value is an error of the whole term. */
  readonly strict: boolean
}

export interface OptMapTerm extends Typed {
  readonly kind: 'optMap'
  readonly target: Term
  readonly local: LocalTerm
  readonly body: Term
  readonly flat: boolean
}

/** `optional.or(other)`, or `optional.orValue(other)` if `unwraps`; evaluates `other` if needed. */
export interface FallbackTerm extends Typed {
  readonly kind: 'fallback'
  readonly optional: Term
  readonly other: Term
  readonly unwraps: boolean
}

/**
 * `coalesce(a, b, …)`: the first choice that is neither an error nor null; null if there is none
 * and at least one of them is null. `default(a, b)` (`onlyMissing`): b if a is null or reads a
 * member or variable that is missing; any other error of a remains an error.
 */
export interface CoalesceTerm extends Typed {
  readonly kind: 'coalesce'
  readonly choices: readonly Term[]
  readonly onlyMissing: boolean
}

/** The direct children of this term, in order of evaluation. */
export function children(term: Term): readonly Term[] {
  switch (term.kind) {
    case 'constant':
    case 'invalid':
    case 'variable':
    case 'local':
      return []
    case 'field':
    case 'not':
      return [term.operand]
    case 'index':
      return [term.operand, term.index]
    case 'equal':
    case 'and':
    case 'or':
      return [term.left, term.right]
    case 'member':
      return [term.element, term.container]
    case 'call':
      return term.args
    case 'conditional':
      return [term.condition, term.whenTrue, term.whenFalse]
    case 'list':
      return term.elements.map((element) => element.value)
    case 'map':
      return term.entries.flatMap((entry) => [entry.key, entry.value])
    case 'loop':
      return term.filter === undefined
        ? [term.range, term.body]
        : [term.range, term.filter, term.body]
    case 'bind':
      return [term.value, term.body]
    case 'optMap':
      return [term.target, term.body]
    case 'fallback':
      return [term.optional, term.other]
    case 'coalesce':
      return term.choices
  }
}

export function invalid(reason: string, { start, end }: Span): Term {
  return { kind: 'invalid', reason, type: DYN, start, end }
}
