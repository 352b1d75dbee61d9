import { type Condition, conditionsOf } from '../cel/index.ts'
import type { Decision, ExplainedRule, RulePlace } from '../exchange/decision.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Attached } from '../model/policy.ts'
import {
  denialOf,
  type ExplainedRequest,
  type ExplainedStage,
  isDenied,
} from '../program/explain.ts'
import type { ExplainedTool } from '../program/explain-mcp.ts'
import { readsService, type UncalledService } from '../program/explain-services.ts'
import { isOwnResponse } from '../program/explain-steps.ts'
import { recordOf } from '../reach/kinds.ts'
import { missingHint } from './missing.ts'
import type { Paint } from './paint.ts'
import type { Rejected } from './wire-request.ts'

/**
 * `rejected`: malformed, cross-site, or not served by any listener. `closed`: the connection is
 * closed.
 * `answered`: by the gateway itself, such as a redirect or a CORS preflight. `forwarded`: to a
 * backend.
 * `not-served`: no rule denies it, but nothing can serve it.
 * `not-known`: depends on unspecified input.
 */
type Outcome =
  | 'rejected'
  | 'closed'
  | 'denied'
  | 'no-route'
  | 'answered'
  | 'forwarded'
  | 'not-served'
  | 'not-known'

/** The JSON output of `portcullis explain`. */
export interface Explained {
  readonly outcome: Outcome
  /** The status of the gateway's own response. */
  readonly status?: number
  /** The reason for that response, as in logs and metrics. */
  readonly reason?: string
  /** The message to the client, if there is more than the status. */
  readonly message?: string
  /** The models that this caller sees, if it requests the list. */
  readonly models?: readonly string[]
  readonly gateway: string
  readonly listener: string
  readonly route: string
  readonly authentications: readonly AuthenticationReport[]
  /** Why an authentication rejects the request, so that no rule is evaluated. */
  readonly rejected?: string
  /** Results that may be misleading. */
  readonly notes: readonly string[]
  readonly stages: readonly StageReport[]
  /** For a list of MCP tools: the pinned tools, and whether this caller sees them. */
  readonly tools?: readonly ExplainedTool[]
}

interface AuthenticationReport {
  readonly policy: string
  readonly kind: string
  /** Without valid credentials, no rule is evaluated: the response is 401. */
  readonly isRequired: boolean
}

interface StageReport {
  readonly stage: string
  readonly backend?: string
  readonly provider?: string
  /** `skipped`, for providers: denied for this one, but another one may be called. */
  readonly verdict: 'allowed' | 'denied' | 'skipped' | 'would-deny'
  readonly cause: string
  /** The index in `rules`; -1 if no rule decided. */
  readonly deciding: number
  readonly rules: readonly RuleReport[]
}

interface RuleReport extends RulePlace {
  /** null if the evaluation has no result. */
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
  rejected?: string,
  unverified?: Attached,
): Explained {
  const { gateway, listener, route, authentications, stages, limits = [] } = explained
  return {
    ...outcomeOf(explained, rejected, unverified),
    gateway,
    listener,
    route,
    authentications: authentications.map(authenticationReport),
    ...(rejected === undefined ? {} : { rejected }),
    notes: [...notes, ...limits.map(limitNote)],
    stages: stages.map((one) => stageReport(one, denialOf(stages) === undefined)),
    ...(explained.tools === undefined ? {} : { tools: explained.tools }),
  }
}

function limitNote(limit: string): string {
  return `${limit} is not evaluated: it rejects requests over the limit`
}

function outcomeOf(
  explained: ExplainedRequest,
  rejected: string | undefined,
  unverified: Attached | undefined,
): Pick<Explained, 'outcome' | 'status' | 'reason' | 'message' | 'models'> {
  const { stages, closed, early, signInPage, late, unknown, uncalled = [] } = explained
  const [connection, ...others] = stages
  if (connection !== undefined && isDenied(connection)) return { outcome: 'closed' }
  if (closed !== undefined) return { outcome: 'closed', reason: closed }
  if (early !== undefined) {
    return { outcome: REJECTING.has(early.reason) ? 'rejected' : 'answered', ...responseOf(early) }
  }
  if (signInPage !== undefined) return { outcome: 'not-known', reason: signInPage }
  if (rejected !== undefined) return { outcome: 'denied', status: 401, reason: 'authentication' }
  if (unverified !== undefined) return { outcome: 'not-known', reason: verifiedBy(unverified) }
  const open = { outcome: 'not-known', reason: dependsOn(uncalled) } as const
  // The response of a service may provide what a rule needs to admit the request.
  const isOpen = uncalled.some(({ kind }) => kind === 'extAuthz')
  if (isOpen && others.some((one) => isDenied(one) && readsService(one))) return open
  const isTaken = uncalled.some(({ mayRespond }) => mayRespond)
  if (isTaken && !others.some((one) => one.stage === 'traffic' && isDenied(one))) return open
  const certain = others.filter(({ provider }) => unknown === undefined || provider === undefined)
  if (denialOf(certain) !== undefined) {
    const status = others.find(isDenied)?.deniedStatus ?? 403
    return { outcome: 'denied', status, reason: 'authorization' }
  }
  if (uncalled.length > 0 && !isCertain(late)) return open
  if (late?.reason === 'authorization') return { outcome: 'denied', ...responseOf(late) }
  if (unknown !== undefined) return { outcome: 'not-known', reason: unknown }
  if (late === undefined) return { outcome: 'forwarded' }
  if (REJECTING.has(late.reason)) return { outcome: 'rejected', ...responseOf(late) }
  if (late.reason === 'no-route') return { outcome: 'no-route', ...responseOf(late) }
  return { outcome: isOwnResponse(late) ? 'answered' : 'not-served', ...responseOf(late) }
}

function verifiedBy({ kind, policy }: Attached): string {
  const options = 'pass --claims, --api-key or --user'
  return `it depends on the credentials, which \`${kind}\` of \`${policy}\` verifies: ${options}`
}

function dependsOn(uncalled: readonly UncalledService[]): string {
  const named = new Set(uncalled.map(({ kind, policy }) => `\`${kind}\` of \`${policy}\``))
  return `it depends on the service of ${[...named].join(' and ')}`
}

/** Whether the request is not served in any case: services that can only deny do not matter. */
function isCertain(late: Reply | undefined): boolean {
  return late !== undefined && (REJECTING.has(late.reason) || UNSERVED.has(late.reason))
}

const UNSERVED: ReadonlySet<Reply['reason']> = new Set([
  'no-route',
  'no-backend',
  'invalid-backend',
])

const REJECTING: ReadonlySet<Reply['reason']> = new Set(['csrf', 'bad-request', 'too-large'])

function responseOf(reply: Reply): Pick<Explained, 'status' | 'reason' | 'message' | 'models'> {
  const { status, reason, message } = reply
  const models = modelsIn(reply)
  return {
    ...{ status, reason },
    ...(message === undefined ? {} : { message }),
    ...(models === undefined ? {} : { models }),
  }
}

/** The gateway's own list of models, as the rules and keys let this caller see it. */
function modelsIn({ body, detail }: Reply): readonly string[] | undefined {
  if (detail !== 'models') return undefined
  const { data } = JSON.parse(String(body)) as { readonly data: readonly { readonly id: string }[] }
  return data.map(({ id }) => id)
}

const NOWHERE = { gateway: '', listener: '', route: '', authentications: [], stages: [] }

/** The report if neither a route nor a rule is reached. */
export function reportRejected({ status, word }: Rejected): Explained {
  const hint = HINTS[word]
  return {
    outcome: status === undefined ? 'closed' : 'rejected',
    ...(status === undefined ? {} : { status }),
    reason: status === 404 ? 'no listener serves this host' : word,
    ...NOWHERE,
    notes: hint === undefined ? [] : [hint],
  }
}

/** The handshake fails, so that no request rule is reached. */
export function reportUncertified({ gateway, listener }: ExplainedRequest): Explained {
  const word = 'client-certificate-missing'
  const closed = reportRejected({ status: undefined, word })
  return { ...closed, gateway, listener }
}

const HINTS: Readonly<Record<string, string>> = {
  'client-certificate-missing':
    'the listener requires a client certificate: pass one with --certificate or --identity',
  'bad-method': 'methods are case-sensitive: write GET, not get',
  'bad-target': 'a request target is a path, a URL or, for OPTIONS, *; CONNECT is not supported',
  'encoded-slash': '%2F and %5C are rejected because backends interpret them differently',
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
      return missingHint(cause.variable)
    case 'missing':
      return missingHint(cause.path, cause.present)
    case 'error':
      return cause.reason
    default:
      return 'not a condition'
  }
}

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
