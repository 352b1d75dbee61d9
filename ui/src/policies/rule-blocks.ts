import type { Stage } from '../../../src/cel/index.ts'
import type { ActionName } from '../api/shapes.ts'

export interface EditableRule {
  readonly action: ActionName
  readonly expression: string
}

/** The rules in one place of a resource. */
export interface RuleBlock {
  /** Steps from the value of the resource to the block. */
  readonly path: readonly string[]
  readonly stage: Stage
  readonly rules: readonly EditableRule[]
  readonly mode: 'Enforce' | 'Audit'
}

const KINDS: Readonly<Record<string, Stage>> = {
  authorization: 'traffic',
  mcpAuthorization: 'mcp',
  networkAuthorization: 'connection',
}
/** Below these keys, rules are evaluated after a backend is selected. */
const CHOSEN = ['backends', 'backend', 'models', 'providers']
const KEYS = { allow: 'Allow', require: 'Require', deny: 'Deny' } as const

/** All rule blocks of a resource, in the order in which they are written. */
export function ruleBlocks(kind: string, value: unknown): readonly RuleBlock[] {
  return blocksIn(value, kind === 'backends' ? ['backends'] : []).map((block) => ({
    ...block,
    path: kind === 'backends' ? block.path.slice(1) : block.path,
  }))
}

function blocksIn(value: unknown, path: readonly string[]): readonly RuleBlock[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, member]) => {
    const at = [...path, key]
    const stage = KINDS[key]
    const block = stage === undefined ? undefined : blockOf(member, at, stage)
    return block === undefined ? blocksIn(member, at) : [block]
  })
}

function blockOf(value: unknown, path: readonly string[], stage: Stage): RuleBlock | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { rules, action, policy, mode } = value as Readonly<Record<string, unknown>>
  const own = stage === 'traffic' && path.some((step) => CHOSEN.includes(step)) ? 'backend' : stage
  const base = { path, stage: own, mode: mode === 'Audit' ? mode : 'Enforce' } as const
  if (Array.isArray(rules)) return { ...base, rules: rules.flatMap(ruleOf) }
  const expressions = (policy as { matchExpressions?: unknown } | undefined)?.matchExpressions
  if (!Array.isArray(expressions)) return undefined
  return {
    ...base,
    rules: expressions.map((expression) => ({
      action: action as ActionName,
      expression: String(expression),
    })),
  }
}

function ruleOf(rule: unknown): readonly EditableRule[] {
  if (typeof rule === 'string') return [{ action: 'Allow', expression: rule }]
  return Object.entries((rule ?? {}) as object).flatMap(([key, expression]) =>
    key in KEYS ? [{ action: KEYS[key as keyof typeof KEYS], expression: String(expression) }] : [],
  )
}

/** Returns the resource with other rules in the block and no other changes. */
export function withRules(
  value: unknown,
  path: readonly string[],
  rules: readonly EditableRule[],
  mode: RuleBlock['mode'],
): unknown {
  const [step, ...rest] = path
  if (step === undefined) {
    // Uses the short form, which is as expressive as the long one.
    const { action: _, policy: __, mode: ___, ...others } = (value ?? {}) as Record<string, unknown>
    return {
      ...others,
      rules: rules.map(({ action, expression }) => ({ [action.toLowerCase()]: expression })),
      ...(mode === 'Enforce' ? {} : { mode }),
    }
  }
  if (Array.isArray(value)) {
    return value.map((item, index) =>
      String(index) === step ? withRules(item, rest, rules, mode) : item,
    )
  }
  const own = (value ?? {}) as Record<string, unknown>
  return { ...own, [step]: withRules(own[step], rest, rules, mode) }
}
