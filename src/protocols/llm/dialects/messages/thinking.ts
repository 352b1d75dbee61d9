import type { WriteOptions } from '../../dialect.ts'
import type { NeutralRequest } from '../../neutral.ts'
import type { Dropped } from '../../parts.ts'

const MIN_BUDGET = 1024

const BUDGETS: Readonly<Record<string, number | undefined>> = {
  minimal: MIN_BUDGET,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
}

/** Values of `output_config.effort`. */
const EFFORTS: Readonly<Record<string, string | undefined>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'xhigh',
  max: 'max',
}

export interface ThinkingPlan {
  readonly maxTokens: number
  readonly thinking?: Thinking | undefined
  readonly effort?: string | undefined
}

export interface Thinking {
  readonly type: 'adaptive' | 'enabled'
  readonly budget_tokens?: number
}

/** Plans whether and how the model thinks, and the token limit, which must leave room for it. */
export function planThinking(
  request: NeutralRequest,
  options: WriteOptions,
  dropped: Dropped,
): ThinkingPlan {
  const { reasoning } = request
  const most = options.maxOutputTokens ?? defaultMaxTokens(options.model)
  const maxTokens = request.maxTokens ?? most
  if (reasoning === undefined || reasoning.mode === 'disabled') return { maxTokens }
  const obstacle = obstacleToThinking(request, options.maker)
  if (obstacle !== undefined) {
    dropped.add(`reasoning (${obstacle})`)
    return { maxTokens }
  }
  const effort = EFFORTS[reasoning.effort ?? '']
  if (reasoning.mode === 'adaptive' && reasoning.effort === undefined) {
    return thinksAdaptively(options.model) ? { maxTokens, thinking: ADAPTIVE } : { maxTokens }
  }
  if (thinksAdaptively(options.model)) return { maxTokens, thinking: ADAPTIVE, effort }
  const wanted = reasoning.budget ?? BUDGETS[reasoning.effort ?? 'medium'] ?? MIN_BUDGET
  if (request.maxTokens === undefined) {
    // The client set no limit: leave room for the response in addition to the thinking.
    const budget = Math.max(MIN_BUDGET, Math.min(wanted, Math.floor(most / 2)))
    return budget < most ? { maxTokens, thinking: enabled(budget) } : { maxTokens }
  }
  const budget = Math.min(wanted, maxTokens - 1)
  if (budget >= MIN_BUDGET) return { maxTokens, thinking: enabled(budget) }
  dropped.add('reasoning (the limit on tokens leaves no room)')
  return { maxTokens }
}

const ADAPTIVE: Thinking = { type: 'adaptive' }

function enabled(budget: number): Thinking {
  return { type: 'enabled', budget_tokens: budget }
}

/**
 * Thinking cannot be combined with a forced tool, nor enabled in the middle of a tool-use turn
 * whose thinking is missing: both are rejected.
 */
function obstacleToThinking(request: NeutralRequest, maker: string): string | undefined {
  const { toolChoice, tools, messages } = request
  if (tools.length > 0 && (toolChoice?.kind === 'any' || toolChoice?.kind === 'tool')) {
    return 'a tool is forced'
  }
  const last = messages.findLast(({ role }) => role === 'assistant')
  if (last === undefined || !last.parts.some(({ kind }) => kind === 'toolCall')) return undefined
  const isSigned = last.parts.some(
    (part) => part.kind === 'reasoning' && part.signature?.maker === maker,
  )
  return isSigned ? undefined : 'the reasoning before the tool calls is not there'
}

/** Models from version 4.6 on choose their own budget; names without a version are newer. */
function thinksAdaptively(model: string): boolean {
  const version = /claude-(?:[a-z]+-)?(\d)(?:[-.](\d{1,2}))?(?!\d)/.exec(model)
  if (version === null) return true
  const major = Number(version[1])
  return major > 4 || (major === 4 && Number(version[2] ?? 0) >= 6)
}

/** The output limit of every model of a family; the catalog may have a more exact one. */
function defaultMaxTokens(model: string): number {
  if (/claude-(instant|2|3-(opus|sonnet|haiku))/.test(model)) return 4096
  return /claude-3-5/.test(model) ? 8192 : 32_000
}
