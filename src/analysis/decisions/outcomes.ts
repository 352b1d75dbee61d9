import { readsOf } from '../../cel/check/reads.ts'
import type { Term } from '../../cel/check/term.ts'
import { explain } from '../../cel/explain/explain.ts'
import { OVER_BOUND } from '../../cel/explain/explanation.ts'
import type { Environment } from '../../cel/index.ts'
import { DEFAULT_FUEL } from '../../cel/values/fuel.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { ANY, ERROR, FALSE, type Outcomes, outcomeOf, swapped, TRUE } from '../symbolic/outcome.ts'
import { canonical, type KnownValues } from './known-values.ts'

/** The possible outcomes of a condition, and the unknown attributes that they depend on. */
export interface Evaluated {
  readonly outcomes: Outcomes
  readonly unknown: readonly string[]
}

/**
 * Evaluates a condition with some attributes unknown. The gateway's own evaluator evaluates each
 * operand of `&&`, `||` and `!` if all the attributes it reads are known; any other operand can
 * have any outcome.
 */
export function evaluateKnown(term: Term, environment: Environment, known: KnownValues): Evaluated {
  const unknown = new Set<string>()
  const of = (part: Term): Outcomes => {
    switch (part.kind) {
      case 'constant':
        return outcomeOf(part.value)
      case 'not':
        return swapped(of(part.operand))
      case 'and':
        return joined(of(part.left), of(part.right), TRUE, FALSE)
      case 'or':
        return joined(of(part.left), of(part.right), FALSE, TRUE)
      case 'conditional': {
        const condition = of(part.condition)
        const [yes, no] = [of(part.whenTrue), of(part.whenFalse)]
        return (condition & TRUE ? yes : 0) | (condition & FALSE ? no : 0) | (condition & ERROR)
      }
      default:
        return leaf(part)
    }
  }
  const leaf = (part: Term): Outcomes => {
    const isTest = part.kind === 'field' && part.access === 'test'
    const reads = readsOf(part, environment).map((read) => ({
      ...read,
      steps: [read.variable, ...read.fields],
    }))
    const hidden = reads.filter(({ steps }) => !known.isKnown(canonical(steps), isTest))
    if (hidden.length > 0) {
      for (const { path } of hidden) unknown.add(path)
      return ANY
    }
    const { value, cause } = explain(part, spelled(known, reads), DEFAULT_FUEL)
    return cause?.kind === 'error' && cause.reason === OVER_BOUND ? ANY : outcomeOf(value)
  }
  const outcomes = of(term)
  return { outcomes, unknown: isOne(outcomes) ? [] : [...unknown] }
}

function isOne(outcomes: Outcomes): boolean {
  return outcomes === TRUE || outcomes === FALSE || outcomes === ERROR
}

/** `a && b` is FALSE if either is, TRUE if both are, and an error otherwise; `||` is reversed. */
function joined(left: Outcomes, right: Outcomes, both: Outcomes, either: Outcomes): Outcomes {
  let found = (left | right) & either
  if (left & both && right & both) found |= both
  const [l, r] = [left & ~either, right & ~either]
  if (l !== 0 && r !== 0 && (l | r) & ERROR) found |= ERROR
  return found
}

/** Headers under the names that the condition uses for them. */
function spelled(
  known: KnownValues,
  reads: readonly { readonly steps: readonly string[] }[],
): JsonObject {
  const variables = known.variables()
  const request = variables['request'] as JsonObject | undefined
  const headers = request?.['headers'] as JsonObject | null | undefined
  if (headers === undefined || headers === null) return variables
  const own: Record<string, Value> = { ...headers }
  for (const { steps } of reads) {
    const [variable, field, name = ''] = steps
    const value = headers[name.toLowerCase()]
    if (variable === 'request' && field === 'headers' && value !== undefined) own[name] = value
  }
  return { ...variables, request: { ...request, headers: own } }
}
