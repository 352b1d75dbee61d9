import { NO_DECISIONS } from '../exchange/decision.ts'
import { isRejection, type Reply } from '../exchange/reply.ts'
import type { PolicyPlace } from '../model/policy.ts'
import { policyRecordOf, type ShowOrigin } from '../program/policy-record.ts'
import type { DecisionRecord, DecisionStage } from '../telemetry/decision-record.ts'
import type { Reason } from '../telemetry/definitions/labels.ts'
import type { RequestState } from './request-state.ts'

/** Why the gateway itself rejected something, if neither a rule nor an authentication did. */
export interface OwnRejection {
  readonly stage: DecisionStage
  readonly cause: Reason
  readonly detail: string
  readonly by?: PolicyPlace | undefined
  /** Only a part was rejected, such as items of a list; the rest was served. */
  readonly isPartial?: boolean
}

/** Who is denied is a decision about the client; all others would be rejected, too. */
const DENYING: ReadonlySet<Reason> = new Set<Reason>([
  'authentication',
  'authorization',
  'csrf',
  'external-authorization',
  'external-processing',
  'guardrail',
])

export function rejectionFields(
  { stage, cause, detail, by, isPartial }: OwnRejection,
  show: ShowOrigin,
) {
  return {
    kind: 'rejection',
    stage,
    verdict: DENYING.has(cause) ? 'denied' : 'rejected',
    enforced: true,
    cause,
    ...(detail === '' ? {} : { detail }),
    ...(by === undefined ? {} : { by: { ...policyRecordOf(by), origin: show(by.origin) } }),
    ...(isPartial === true ? { skipped: true as const } : {}),
  } as const satisfies Partial<DecisionRecord>
}

/** Whether something is to be recorded even if the response does not reject: for every request. */
export function hasUnreported({ isReported, exchange }: RequestState): boolean {
  if (isReported) return false
  const { decisions, rejection, mcpRecord } = exchange
  const hides =
    mcpRecord !== undefined && (mcpRecord.hidden.length > 0 || mcpRecord.batch.length > 0)
  return decisions !== NO_DECISIONS || rejection !== undefined || hides
}

/** Undefined if the reply does not reject, or if another record of the request has the reason. */
export function rejectionBy(state: RequestState, reply: Reply): OwnRejection | undefined {
  const { exchange } = state
  if (!isRejection(reply) || isExplained(exchange, reply)) return undefined
  const { reason, rejects, detail = '' } = reply
  return {
    stage: stageOf(state, reply),
    // The reply is that of the protocol, but no server made it.
    cause: reason === 'upstream' ? 'bad-request' : reason,
    detail: rejects ?? detail,
    by: reply.by ?? exchange.repliedBy,
  }
}

/** Items that were omitted from lists of MCP servers, because rules deny them to this client. */
export function omissionsFrom({ exchange }: RequestState): readonly OwnRejection[] {
  const { mcpRecord } = exchange
  if (mcpRecord === undefined) return []
  return [mcpRecord, ...mcpRecord.batch].flatMap(({ hidden }) =>
    hidden.flatMap(({ target, kind, reason, count, names }) => {
      // Differences from pins have records of their own.
      if (reason === 'pin') return []
      const more = count > names.length ? `, and ${count - names.length} more` : ''
      const detail = `${count} × ${kind} of ${target}: ${names.join(', ')}${more}`
      return [{ stage: 'mcp', cause: 'authorization', detail, isPartial: true } as const]
    }),
  )
}

function isExplained({ decisions, rejection }: RequestState['exchange'], reply: Reply): boolean {
  if (rejection !== undefined && BEFORE_RULES.has(reply.reason)) return true
  if (reply.status >= 500 && reply.reason !== 'invalid-policy') return false
  return decisions.some(
    ({ isAllowed, isEnforced, isSkipped }) => isEnforced && !isAllowed && !isSkipped,
  )
}

const BEFORE_RULES: ReadonlySet<Reason> = new Set<Reason>([
  'authentication',
  'csrf',
  'external-authorization',
])

function stageOf({ exchange, call, backend }: RequestState, { by }: Reply): DecisionStage {
  if (call !== undefined) return 'llm'
  if (exchange.mcpRecord !== undefined) return 'mcp'
  const { section } = by ?? exchange.repliedBy ?? {}
  if (section !== undefined) return section === 'backend' ? 'backend' : 'traffic'
  return backend === undefined ? 'traffic' : 'backend'
}
