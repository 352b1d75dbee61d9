import type { Term } from './term.ts'
import type { Type } from './types.ts'

/**
 * CEL's types are gradual: dyn is accepted everywhere, so `[1] + [dyn('x')]` is a list(int) that
 * holds a string. A type is a guarantee only if the value comes directly from the environment or
 * from a function whose own arguments are known; otherwise the emitters must check the value.
 */

/** Whether the value, if there is one, has its static type, as far as the outermost kind goes. */
export function isKnown(term: Term): boolean {
  switch (term.kind) {
    case 'variable':
    case 'constant':
    case 'equal':
    case 'member':
    case 'and':
    case 'or':
    case 'not':
    case 'list':
    case 'map':
    case 'loop':
    case 'optMap':
      return true
    case 'local':
      return term.known
    case 'field':
    case 'index':
      return isDeclared(term)
    case 'call':
      return term.exact && !isOpen(term.overloads[0]?.result)
    case 'conditional':
      return isKnownAs(term.type, [term.whenTrue, term.whenFalse])
    case 'bind':
      return isKnown(term.body)
    case 'fallback':
      return !term.unwraps
    case 'coalesce':
      return isKnownAs(term.type, term.choices)
    case 'invalid':
      return false
  }
}

/** null is accepted where a timestamp is, for example, without being one. */
function isKnownAs({ kind }: Type, terms: readonly Term[]): boolean {
  return terms.every((term) => isKnown(term) && term.type.kind === kind)
}

/** Whether the term is part of a variable, whose whole type the environment guarantees. */
export function isDeclared(term: Term): boolean {
  switch (term.kind) {
    case 'variable':
      return true
    case 'local':
      return term.declared
    case 'field':
      return term.access === 'test' || isDeclared(term.operand)
    case 'index':
      return isDeclared(term.operand)
    default:
      return false
  }
}

function isOpen(type: Type | undefined): boolean {
  return type === undefined || type.kind === 'param' || type.kind === 'dyn' || type.kind === 'json'
}
