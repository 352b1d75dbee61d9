import { recordOf } from '../reach/kinds.ts'
import type { ConditionReport, Explained, Outcome, RuleReport, StageReport } from './explanation.ts'
import type { Paint } from './paint.ts'

const ACTIONS = [
  ['Deny', 'denies if any is true'],
  ['Require', 'denies unless all are true'],
  ['Allow', 'denies unless at least one is true'],
] as const

const REQUIRED = 'is evaluated first: rejects requests without valid credentials with 401'
const OPTIONAL = 'is evaluated first: accepts requests without credentials'
const ASKED = 'is evaluated first: the result of the service is not known here'

export function renderExplained(explained: Explained, paint: Paint): string {
  const { gateway, listener, route, authentications, rejected, notes, stages } = explained
  const said = notes.map((note) => `  ${paint('warn', note)}`)
  if (stages.length === 0) return `${[outcomeLine(explained, paint), ...said].join('\n')}\n`
  const where = `gateway ${gateway}, listener ${listener}, ${route === '' ? 'no route' : `route ${route}`}`
  const before = authentications.map(({ policy, kind, isRequired }) => {
    const rest = recordOf(kind)?.callsService === true ? ASKED : isRequired ? REQUIRED : OPTIONAL
    return `  ${paint('name', kind)} of ${paint('name', policy)} ${rest}`
  })
  if (rejected !== undefined) {
    before.push(`  ${paint('bad', `denied (${rejected})`)}; request rules are not evaluated.`)
    before.push('  Their results, had they been evaluated:')
  }
  const lines = stages.flatMap((one) => ['', ...stageLines(one, paint)])
  const outcome = showsOutcome(explained) ? [outcomeLine(explained, paint)] : []
  if (explained.models !== undefined) outcome.push(`  models: ${explained.models.join(', ')}`)
  const listed = toolLines(explained.tools, paint)
  return `${[paint('plain', where), ...outcome, ...before, ...said, ...lines, ...listed].join('\n')}\n`
}

function toolLines(tools: Explained['tools'], paint: Paint): readonly string[] {
  if (tools === undefined || tools.length === 0) return []
  const lines = tools.map(({ tool, state }) => {
    return `  ${paint(state === 'shown' ? 'good' : 'bad', state.padEnd(6))} ${paint('plain', tool)}`
  })
  return ['', paint('title', 'pinned tools, as this caller sees them'), ...lines]
}

/** Whether to print the outcome: no rule or backend determines it, or there is a message. */
function showsOutcome({ outcome, message }: Explained): boolean {
  return SHOWN_OUTCOMES.has(outcome) || (outcome === 'denied' && message !== undefined)
}

const SHOWN_OUTCOMES: ReadonlySet<Outcome> = new Set([
  'answered',
  'rejected',
  'no-route',
  'not-served',
  'not-known',
])

const WORDS: ReadonlyMap<Outcome, string> = new Map([
  ['no-route', 'no route matches'],
  ['not-served', 'not served'],
  ['not-known', 'not known'],
])

function outcomeLine({ outcome, status, reason, message }: Explained, paint: Paint): string {
  const word = WORDS.get(outcome) ?? outcome
  const why = [status ?? [], reason ?? [], message ?? []].flat().join(': ')
  const more = outcome === 'answered' ? ' by the gateway itself' : ''
  return `${paint(outcome === 'answered' ? 'good' : 'bad', `${word}${more}`)} ${paint('faint', `(${why})`)}`
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
