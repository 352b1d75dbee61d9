import type { Term } from '../../cel/check/term.ts'
import { explain } from '../../cel/explain/explain.ts'
import { DEFAULT_FUEL } from '../../cel/values/fuel.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { FALSE, type Outcomes, outcomeOf, TRUE } from './outcome.ts'
import type { Possibility, Unknown } from './unknown.ts'

/** Returns the outcomes of a condition on one attribute, using the gateway's own evaluator. */
export function evaluation(
  term: Term,
  steps: readonly string[],
  unknown: Unknown,
): (possibility: Possibility) => Outcomes {
  const quick = textEquality(term)
  return (possibility) => {
    if (quick !== undefined && possibility.kind === 'value') {
      return quick(possibility.value)
    }
    const worlds =
      possibility.kind === 'unreachable'
        ? worldsWithout(steps, unknown)
        : [variablesWith(steps, possibility)]
    return worlds.reduce(
      (outcomes, world) => outcomes | outcomeOf(explain(term, world, DEFAULT_FUEL).value),
      0,
    )
  }
}

/** A shortcut: there may be thousands of rules that each compare one attribute with one string. */
function textEquality(term: Term): ((value: Value) => Outcomes) | undefined {
  if (term.kind !== 'equal') return undefined
  const constant = [term.left, term.right].find((side) => side.kind === 'constant')?.value
  if (typeof constant !== 'string') return undefined
  const [whenEqual, otherwise] = term.negated ? [FALSE, TRUE] : [TRUE, FALSE]
  return (value) => (value === constant ? whenEqual : otherwise)
}

/** Variables in which only this one attribute is present, if it is. */
function variablesWith(steps: readonly string[], possibility: Possibility): JsonObject {
  switch (possibility.kind) {
    case 'value':
      return nested(steps, possibility.value)
    case 'map':
      return nested(steps, {})
    case 'list':
      return nested(steps, [])
    default:
      return nested(steps.slice(0, -1), {})
  }
}

/** The enclosing value is absent, or has no parts. */
function worldsWithout(steps: readonly string[], { whole }: Unknown): readonly JsonObject[] {
  const above = steps.slice(0, whole?.unknown.steps.length ?? 1)
  const values = (whole?.unknown.possibilities ?? []).flatMap((one) => {
    if (one.kind === 'list') return [[]]
    return one.kind === 'value' ? [one.value] : []
  })
  return [nested(above.slice(0, -1), {}), ...values.map((value) => nested(above, value))]
}

function nested(steps: readonly string[], value: Value): JsonObject {
  return steps.reduceRight<Value>((inner, step) => ({ [step]: inner }), value) as JsonObject
}
