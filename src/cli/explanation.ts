import { type Condition, conditionsOf } from '../cel/index.ts'
import type { Decision, ExplainedRule, RulePlace } from '../exchange/decision.ts'
import type { Attached } from '../model/policy.ts'
import {
  denialOf,
  type ExplainedRequest,
  type ExplainedStage,
  isDenied,
} from '../program/explain.ts'
import type { Paint } from './paint.ts'

/** What `portcullis explain` says, as JSON. */
export interface Explained {
  readonly gateway: string
  readonly listener: string
  readonly route: string
  readonly authentications: readonly AuthenticationReport[]
  /** Why an authentication refuses it, so that no rule is asked. */
  readonly refused?: string
  /** What may not be as it seems. */
  readonly notes: readonly string[]
  readonly stages: readonly StageReport[]
}

interface AuthenticationReport {
  readonly policy: string
  readonly kind: string
  /** Without credentials that it accepts no rule is asked: the answer is 401. */
  readonly isRequired: boolean
}

interface StageReport {
  readonly stage: string
  readonly backend?: string
  readonly provider?: string
  /** Of providers, `skipped`: it is denied for this one, and another one may be asked. */
  readonly verdict: 'allowed' | 'denied' | 'skipped' | 'would-deny'
  readonly cause: string
  /** By its place in `rules`; -1: no rule of its own decided. */
  readonly deciding: number
  readonly rules: readonly RuleReport[]
}

interface RuleReport extends RulePlace {
  /** null: it came to nothing. */
  readonly value: boolean | null
  readonly why?: string
  readonly conditions: readonly ConditionReport[]
}

interface ConditionReport {
  readonly text: string
  readonly value: boolean | null
  readonly why?: string
  readonly operands: readonly { readonly text: string; readonly value: string | null }[]
}

export function reportExplained(
  explained: ExplainedRequest,
  notes: readonly string[] = [],
  refused?: string,
): Explained {
  const { gateway, listener, route, authentications, stages } = explained
  return {
    gateway,
    listener,
    route,
    authentications: authentications.map(authenticationReport),
    ...(refused === undefined ? {} : { refused }),
    notes,
    stages: stages.map((one) => stageReport(one, denialOf(stages) === undefined)),
  }
}

function authenticationReport(policy: Attached): AuthenticationReport {
  const { mode } = (policy.state === 'valid' ? policy.value : {}) as { readonly mode?: string }
  const isRequired = mode !== 'Optional' && mode !== 'Permissive'
  return { policy: policy.policy, kind: policy.kind, isRequired }
}

function stageReport(explained: ExplainedStage, isAllowed: boolean): StageReport {
  const { stage, name, provider, decision, admitting, rules } = explained
  const deciding = decision === undefined ? admitting : decision.rule
  return {
    stage,
    ...(name === '' ? {} : { backend: name }),
    ...(provider === undefined ? {} : { provider }),
    verdict: isAllowed && isDenied(explained) ? 'skipped' : verdictOf(decision),
    cause: decision?.cause ?? (admitting === undefined ? 'no-rules' : 'matched'),
    deciding: rules.findIndex(({ rule }) => isSame(rule, deciding)),
    rules: rules.map(ruleReport),
  }
}

function verdictOf(decision: Decision | undefined): StageReport['verdict'] {
  if (decision === undefined || decision.isAllowed) return 'allowed'
  return decision.isEnforced ? 'denied' : 'would-deny'
}

function isSame(rule: RulePlace, other: RulePlace | undefined): boolean {
  if (other === undefined) return false
  return (
    rule.policy === other.policy &&
    rule.level === other.level &&
    rule.index === other.index &&
    rule.origin === other.origin
  )
}

function ruleReport({ rule, explanation }: ExplainedRule): RuleReport {
  const { value, cause } = explanation
  return {
    ...rule,
    value: typeof value === 'boolean' ? value : null,
    ...(typeof value === 'boolean' ? {} : { why: reasonOf(cause) }),
    conditions: conditionsOf(explanation, rule.expression).map(conditionReport),
  }
}

function conditionReport({ text, value, cause, operands }: Condition): ConditionReport {
  return {
    text,
    value: value ?? null,
    ...(value === undefined ? { why: reasonOf(cause) } : {}),
    operands: operands.map((one) => ({ text: one.text, value: one.value ?? null })),
  }
}

function reasonOf(cause: Condition['cause']): string {
  switch (cause?.kind) {
    case 'unset':
      return `${cause.variable} is not set`
    case 'missing': {
      const beside = cause.present.length === 0 ? '' : `; there are: ${cause.present.join(', ')}`
      return `${cause.path} is not set${beside}`
    }
    case 'error':
      return cause.reason
    default:
      return 'not a condition'
  }
}

const ACTIONS = [
  ['Deny', 'denies where one is true'],
  ['Require', 'denies unless all are true'],
  ['Allow', 'denies unless one is true'],
] as const

const REQUIRED = 'comes first: without it 401'
const OPTIONAL = 'comes first, and takes whoever has no credentials'
const ASKED = 'comes first: what the service says is not known here'

export function renderExplained(explained: Explained, paint: Paint): string {
  const { gateway, listener, route, authentications, refused, notes, stages } = explained
  const where = `gateway ${gateway}, listener ${listener}, ${route === '' ? 'no route' : `route ${route}`}`
  const before = authentications.map(({ policy, kind, isRequired }) => {
    const rest = kind === 'extAuthz' ? ASKED : isRequired ? REQUIRED : OPTIONAL
    return `  ${paint('name', kind)} of ${paint('name', policy)} ${rest}`
  })
  if (refused !== undefined) {
    before.push(`  ${paint('bad', `denied (${refused})`)}; no rule of the request is asked:`)
    before.push('  below is what they would say to it all the same')
  }
  const said = notes.map((note) => `  ${paint('warn', note)}`)
  const lines = stages.flatMap((one) => ['', ...stageLines(one, paint)])
  return `${[paint('plain', where), ...before, ...said, ...lines].join('\n')}\n`
}

function stageLines(stage: StageReport, paint: Paint): readonly string[] {
  const { verdict, cause, rules, backend, provider } = stage
  const place = backend === undefined ? stage.stage : `${stage.stage} ${backend}`
  const title = provider === undefined ? place : `${place}, provider ${provider}`
  const word = verdict === 'would-deny' ? 'allowed, but audit mode would deny it' : verdict
  const head = `${paint('title', title)}  ${paint(verdict === 'allowed' ? 'good' : 'bad', word)} ${paint('faint', `(${cause})`)}`
  const groups = ACTIONS.flatMap(([action, meaning]) => {
    const own = rules.map((rule, at) => ({ rule, at })).filter(({ rule }) => rule.action === action)
    if (own.length === 0) return []
    const lines = own.flatMap(({ rule, at }) => ruleLines(rule, at === stage.deciding, paint))
    return [`  ${paint('title', action)} ${paint('faint', meaning)}`, ...lines]
  })
  return [head, ...(groups.length === 0 ? [paint('faint', '  no rules')] : groups)]
}

function ruleLines(rule: RuleReport, isDeciding: boolean, paint: Paint): readonly string[] {
  const label = `${rule.policy} ${rule.kind}[${rule.index}]${rule.mode === 'Audit' ? ' (audit)' : ''}`
  const mark = isDeciding ? paint('warn', '  ← decides') : ''
  return [
    `    ${signOf(rule.value, paint)} ${paint('name', label)}  ${paint('faint', rule.origin)}${mark}`,
    `        ${paint('title', rule.expression)}`,
    ...rule.conditions.flatMap((condition) => conditionLines(condition, paint)),
  ]
}

function conditionLines(condition: ConditionReport, paint: Paint): readonly string[] {
  const { text, value, why, operands } = condition
  const shown = operands.map((one) => `${one.text} = ${one.value ?? 'not set'}`).join(', ')
  const more = why === undefined ? '' : `  ${paint('warn', why)}`
  return [
    `        ${signOf(value, paint)} ${paint('plain', text)}  ${paint('faint', shown)}${more}`,
  ]
}

function signOf(value: boolean | null, paint: Paint): string {
  if (value === null) return paint('warn', '?')
  return value ? paint('good', '✓') : paint('bad', '✗')
}
