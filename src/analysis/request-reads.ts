import type { Read } from '../cel/check/reads.ts'
import { compile, STAGES } from '../cel/index.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { conditionsAt, type Point } from './points.ts'

/* What expressions at a point read of a request beyond its head. */

export function readsBody(point: Point): boolean {
  const { stage, effective } = point
  if (stage === 'connection') return false
  if (conditionsAt(point).some(({ reads }) => reads.some(isOfBody))) return true
  return [...effective.values()].some((policies) => policies.some(hasBodyExpression))
}

/** An expression that reads `request` as a whole may read anything in it, by another name. */
function isOfBody({ variable, fields: [field] }: Read): boolean {
  return variable === 'request' && (field === undefined || field === 'body')
}

const BODY_EXPRESSIONS = new WeakMap<ValidPolicy, boolean>()

/** Whether any string in the policy is an expression that reads the body. */
function hasBodyExpression(policy: ValidPolicy): boolean {
  let isReading = BODY_EXPRESSIONS.get(policy)
  if (isReading !== undefined) return isReading
  isReading = [...textsIn(policy.value)].some(readsBodyAs)
  BODY_EXPRESSIONS.set(policy, isReading)
  return isReading
}

function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) yield* textsIn(member)
  }
}

/** Only the policies know which strings are expressions, and of which stage: any may be. */
function readsBodyAs(text: string): boolean {
  if (!/\brequest\b/.test(text) || isOfOtherFields(text)) return false
  const expressions = Object.values(STAGES).flatMap(
    (stage) => compile(text, stage).expression ?? [],
  )
  if (expressions.length === 0) return /\brequest\b\W{1,6}body\b/.test(text)
  return expressions.some(({ reads }) => reads.some(isOfBody))
}

/** Whether the text shows, without being compiled, that fields other than the body are selected. */
function isOfOtherFields(text: string): boolean {
  return !/body|\\/.test(text) && !/\brequest\b(?!\s*\.)/.test(text)
}

/** Whether a rule reads more about calls to models than which provider serves them. */
export function readsModel({ rules }: Pick<Point, 'rules'>): boolean {
  const reads = rules.flatMap((rule) => rule.reads)
  return reads.some(({ variable, fields }) => variable === 'llm' && fields[0] !== 'provider')
}

/** What rules read about every message to an MCP server; the rest is about calls. */
const OF_MESSAGES: ReadonlySet<string> = new Set(['methodName', 'sessionId'])

/** Whether a rule reads what only calls of tools, prompts and resources have. */
export function readsCall({ rules }: Pick<Point, 'rules'>): boolean {
  const reads = rules.flatMap((rule) => rule.reads)
  return reads.some(
    ({ variable, fields: [field] }) => variable === 'mcp' && !OF_MESSAGES.has(field ?? ''),
  )
}
