import { toJson } from '../cel/values/json-write.ts'
import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Ai } from '../policies/ai/schema.ts'
import { type CompileContext, type PolicyExpression, variablesOf } from '../policies/define.ts'

/* Fields of calls to models that expressions compute: `transformations` of the policy `ai`. */

export interface ComputedField {
  readonly name: string
  readonly evaluate: ReturnType<PolicyExpression['evaluate']>
}

const NO_COMPUTED_FIELDS: readonly ComputedField[] = []

/** `policies`: the most general first; if two set the same field, the most specific one wins. */
export function compileFields(
  policies: readonly ValidPolicy[],
  context: () => CompileContext,
): readonly ComputedField[] | undefined {
  const found = new Map<string, ComputedField>()
  for (const policy of policies) {
    const { transformations = {} } = policy.value as Ai
    for (const [name, text] of Object.entries(transformations)) {
      const field = `transformations.${name}`
      const place = { policy, field, result: 'any', stage: 'llm' } as const
      const expression = context().compile(text, place)
      if (expression === undefined) return undefined
      found.set(name, { name, evaluate: expression.evaluate() })
    }
  }
  return found.size === 0 ? NO_COMPUTED_FIELDS : [...found.values()]
}

/** The computed values; undefined removes the field. */
export type FieldValues = Readonly<Record<string, unknown>>

const NO_VALUES: FieldValues = {}

/** `request`: the client's request, with the model that is called. */
export function computeFields(
  fields: readonly ComputedField[],
  exchange: Exchange,
  request: JsonObject,
): FieldValues {
  if (fields.length === 0) return NO_VALUES
  const before = exchange.llmRequest
  exchange.llmRequest = request
  const values = fields.map(({ name, evaluate }) => {
    const value = evaluate(variablesOf(exchange))
    return [name, value === undefined ? undefined : toJson(value)] as const
  })
  exchange.llmRequest = before
  return Object.fromEntries(values)
}
