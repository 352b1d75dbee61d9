import type { JsonObject, Value } from '../cel/values/value.ts'
import { type Reply, reply } from '../exchange/reply.ts'
import type { UsageLimit } from '../exchange/usage-limit.ts'
import type { CatalogEntry, Operation } from '../protocols/llm/index.ts'
import { usageFrom } from '../protocols/llm/usage.ts'
import type { FieldValues } from './computed-fields.ts'
import type { CallTarget } from './model-call.ts'
import { calledModel } from './model-changes.ts'

/* Estimates what a call may use, so that limits and budgets can reserve it in advance. */

/** Assumed number of output tokens if neither the client nor the catalog specifies a limit. */
const ASSUMED_OUTPUT = 4_096

/** Costs are in units of 10⁻¹² dollars, budgets in units of 10⁻⁹ dollars. */
const COST_PER_UNIT = 1_000n

/** Converts a cost to units of 10⁻⁹ dollars, rounded up. */
export function budgetUnits(cost: bigint): number {
  return Number((cost + COST_PER_UNIT - 1n) / COST_PER_UNIT)
}

export const UNPRICED: Reply = {
  ...reply(403, 'authorization'),
  detail: 'unpriced-model',
  message: 'The model has no price, so its cost cannot be charged to a budget.',
  code: 'model_not_priced',
}

/** Whether prices are known for everything that a call to the model may be billed for. */
export function isPriced(entry: CatalogEntry | undefined): entry is CatalogEntry {
  return entry?.costOf(usageFrom({ input: 1, output: 1 })) !== undefined
}

export function entryOf(
  { prices, catalogNames, options }: CallTarget,
  asked: string,
  computed: FieldValues,
): CatalogEntry | undefined {
  return prices?.find(catalogNames, calledModel(options, asked, computed) ?? asked)
}

interface EstimatedCall {
  readonly model: string
  readonly operation: Operation
  readonly attributes: JsonObject
  /** The request fields that expressions compute for a provider. */
  readonly computed: (target: CallTarget) => FieldValues
}

/** The upper bound of what a call uses of a limit, whichever provider serves it. */
export function estimateOf(
  { measure, budget }: UsageLimit,
  { model, operation, attributes, computed }: EstimatedCall,
  targets: readonly CallTarget[],
): number {
  if (measure === 'requests') return 1
  const input = Number(attributes.inputTokens ?? 0)
  const params = (attributes.params ?? {}) as JsonObject
  // A rate limit refills soon, so the estimate uses only the limit that the client specifies.
  if (budget === undefined) return input + (saidOutput(params) ?? 0)
  const writes = operation === 'generate' || operation === 'compact'
  const all = targets.map((target) => {
    const fields = computed(target)
    const entry = entryOf(target, model, fields)
    const output = writes
      ? outputOf({ ...sentTo(target, params), ...fields } as JsonObject, entry)
      : 0
    if (measure === 'tokens') return input + output
    const cost = entry?.costOf(usageFrom({ input, output }))
    return cost === undefined ? 0 : budgetUnits(cost.total)
  })
  return Math.max(0, ...all)
}

function sentTo({ options }: CallTarget, params: JsonObject): JsonObject {
  const { defaults = {}, overrides = {} } = options
  return { ...(defaults as JsonObject), ...params, ...(overrides as JsonObject) }
}

function outputOf(sent: JsonObject, entry: CatalogEntry | undefined): number {
  const max = entry?.maxOutputTokens ?? Number.POSITIVE_INFINITY
  const assumed = Number.isFinite(max) ? max : ASSUMED_OUTPUT
  return Math.min(saidOutput(sent) ?? assumed, max) * choicesOf(sent)
}

/** Each of the responses to one prompt may be as long as the limit. */
function choicesOf(sent: JsonObject): number {
  return largest([sent.n, ...inConfig(sent, 'candidateCount', 'candidate_count')]) ?? 1
}

/**
 * The limit set in the request; the largest if there are several, whichever one the provider reads.
 */
function saidOutput(params: JsonObject): number | undefined {
  return largest([
    params.max_completion_tokens,
    params.max_tokens,
    params.max_output_tokens,
    ...inConfig(params, 'maxOutputTokens', 'max_output_tokens'),
    memberOf(params.inferenceConfig, 'maxTokens'),
  ])
}

/** Members that Gemini nests in `generationConfig`, in both spellings. */
function inConfig(params: JsonObject, ...names: readonly string[]): (Value | undefined)[] {
  const { generationConfig, generation_config } = params
  const configs = [generationConfig, generation_config]
  return configs.flatMap((config) => names.map((name) => memberOf(config, name)))
}

function memberOf(value: Value | undefined, name: string): Value | undefined {
  return typeof value === 'object' && value !== null ? (value as JsonObject)[name] : undefined
}

/** Undefined if none of them is a number above zero. */
function largest(values: readonly (Value | undefined)[]): number | undefined {
  let found: number | undefined
  for (const value of values) {
    if (typeof value !== 'number' && typeof value !== 'bigint') continue
    const own = Number(value)
    if (own > (found ?? 0)) found = own
  }
  return found
}
