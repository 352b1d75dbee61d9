import { type Condition, conditionsOf } from '../cel/index.ts'
import { locate, NO_PLACES, type Places } from '../diagnostics/places.ts'
import { renderOrigin } from '../diagnostics/render.ts'
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
import { missingHint } from './missing.ts'
import type { Rejected } from './wire-request.ts'

/**
 * `rejected`: malformed, cross-site, or not served by any listener. `closed`: the connection is
 * closed.
 * `answered`: by the gateway itself, such as a redirect or a CORS preflight. `forwarded`: to a
 * backend.
 * `not-served`: no rule denies it, but nothing can serve it.
 * `not-known`: depends on unspecified input.
 */
export type Outcome =
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

export interface StageReport {
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

export interface RuleReport extends Omit<RulePlace, 'origin'> {
  readonly origin: string
  /** null if the evaluation has no result. */
  readonly value: boolean | null
  readonly why?: string
  readonly conditions: readonly ConditionReport[]
}

export interface ConditionReport {
  readonly text: string
  readonly value: boolean | null
  readonly why?: string
  readonly operands: readonly { readonly text: string; readonly value: string | null }[]
}

export interface ReportOptions {
  readonly notes?: readonly string[]
  /** Why an authentication rejects the request. */
  readonly rejected?: string | undefined
  /** The authentication that would have to verify a credential. */
  readonly unverified?: Attached | undefined
  /** How many rules of a stage are shown, in addition to the one that decides. */
  readonly maxRules?: number
  readonly places?: Places
}

/** One rule at a time: there may be thousands. */
export function* reportExplained(
  explained: ExplainedRequest,
  { notes = [], rejected, unverified, maxRules = Infinity, places = NO_PLACES }: ReportOptions = {},
): Generator<void, Explained> {
  const { gateway, listener, route, authentications, stages: all, limits = [] } = explained
  const isAllowed = denialOf(all) === undefined
  const omitted: string[] = []
  const stages: StageReport[] = []
  for (const one of all) {
    const shown = shownRules(one, maxRules)
    const left = one.rules.length - shown.length
    if (left > 0) omitted.push(`${one.stage}: ${left} more rules are not shown`)
    stages.push(yield* stageReport({ ...one, rules: shown }, isAllowed, places))
  }
  return {
    ...outcomeOf(explained, rejected, unverified),
    gateway,
    listener,
    route,
    authentications: authentications.map(authenticationReport),
    ...(rejected === undefined ? {} : { rejected }),
    notes: [...notes, ...limits.map(limitNote), ...omitted],
    stages,
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

function shownRules(stage: ExplainedStage, max: number): readonly ExplainedRule[] {
  const { rules } = stage
  if (rules.length <= max) return rules
  const deciding = decidingIn(stage)
  const first = rules.slice(0, max)
  return deciding < max ? first : [...first, rules[deciding] as ExplainedRule]
}

/** The index of the rule that decides; -1 if there is none. */
function decidingIn({ decision, admitting, rules }: ExplainedStage): number {
  const deciding = decision === undefined ? admitting : decision.rule
  return rules.findIndex(({ rule }) => isSame(rule, deciding))
}

function* stageReport(
  explained: ExplainedStage,
  isAllowed: boolean,
  places: Places,
): Generator<void, StageReport> {
  const { stage, name, provider, decision, admitting, rules } = explained
  const reports: RuleReport[] = []
  for (const rule of rules) {
    reports.push(ruleReport(rule, places))
    yield
  }
  return {
    stage,
    ...(name === '' ? {} : { backend: name }),
    ...(provider === undefined ? {} : { provider }),
    verdict: isAllowed && isDenied(explained) ? 'skipped' : verdictOf(decision),
    cause: decision?.cause ?? (admitting === undefined ? 'no-rules' : 'matched'),
    deciding: decidingIn(explained),
    rules: reports,
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
    renderOrigin(rule.origin) === renderOrigin(other.origin)
  )
}

function ruleReport({ rule, explanation }: ExplainedRule, places: Places): RuleReport {
  const { value, cause } = explanation
  return {
    ...rule,
    origin: renderOrigin(locate(places, rule.origin)),
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
