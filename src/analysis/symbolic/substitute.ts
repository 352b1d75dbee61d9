import { fold } from '../../cel/check/fold.ts'
import { children, type Term } from '../../cel/check/term.ts'
import { explain } from '../../cel/explain/explain.ts'
import { DEFAULT_FUEL } from '../../cel/values/fuel.ts'
import type { Value } from '../../cel/values/value.ts'

/** What attributes of a request always are at a place, keyed by their steps joined with dots. */
export type Definitions = ReadonlyMap<string, Value>

/**
 * The term with these attributes replaced by their values, and whatever follows from them folded:
 * `llm.provider == 'a' && x` is x where the provider is a.
 */
export function substituted(term: Term, definitions: Definitions): Term {
  if (definitions.size === 0) return term
  const steps = stepsOf(term)
  const value = steps && definitions.get(steps.join('.'))
  if (value !== undefined && term.kind === 'field') {
    if (term.access === 'get') return constant(term, value)
    if (term.access === 'test') return constant(term, true)
  }
  const inner = withChildren(term, (child) => substituted(child, definitions))
  return inner === term ? term : folded(inner)
}

/** The names of an attribute: a variable and the fields selected from it. */
function stepsOf(term: Term): readonly string[] | undefined {
  if (term.kind === 'variable') return [term.name]
  if (term.kind !== 'field') return undefined
  const { operand } = term
  if (operand.kind === 'field' && operand.access !== 'get') return undefined
  const above = stepsOf(operand)
  return above && [...above, term.field]
}

function constant({ type, start, end }: Term, value: Value): Term {
  return { kind: 'constant', value, type, start, end }
}

/** What reads nothing has one value, unless it is an error. */
function folded(term: Term): Term {
  const own = fold(term)
  if (own.kind === 'constant' || own.kind === 'invalid' || !isClosed(own)) return own
  const { value } = explain(own, {}, DEFAULT_FUEL)
  return value === undefined ? own : constant(own, value)
}

function isClosed(term: Term): boolean {
  if (term.kind === 'variable' || term.kind === 'local' || term.kind === 'invalid') return false
  return children(term).every(isClosed)
}

/** The same object if no child changes. */
function withChildren(term: Term, change: (child: Term) => Term): Term {
  const own = children(term)
  const changed = own.map(change)
  if (own.every((child, index) => child === changed[index])) return term
  const [first, second, third] = changed as [Term, Term, Term]
  switch (term.kind) {
    case 'field':
    case 'not':
      return { ...term, operand: first }
    case 'index':
      return { ...term, operand: first, index: second }
    case 'equal':
    case 'and':
    case 'or':
      return { ...term, left: first, right: second }
    case 'member':
      return { ...term, element: first, container: second }
    case 'call':
      return { ...term, args: changed }
    case 'conditional':
      return { ...term, condition: first, whenTrue: second, whenFalse: third }
    case 'list':
      return {
        ...term,
        elements: term.elements.map((one, at) => ({ ...one, value: changed[at] as Term })),
      }
    case 'map':
      return {
        ...term,
        entries: term.entries.map((one, at) => {
          return { ...one, key: changed[2 * at] as Term, value: changed[2 * at + 1] as Term }
        }),
      }
    case 'loop':
      return term.filter === undefined
        ? { ...term, range: first, body: second }
        : { ...term, range: first, filter: second, body: third }
    case 'bind':
      return { ...term, value: first, body: second }
    case 'optMap':
      return { ...term, target: first, body: second }
    case 'fallback':
      return { ...term, optional: first, other: second }
    case 'coalesce':
      return { ...term, choices: changed }
    default:
      return term
  }
}
