import { showValue } from '../exchange/attribute-value.ts'
import type { Connection } from '../exchange/connection.ts'
import type {
  Attribute,
  Decision,
  Failure,
  InvalidPlace,
  Judgement,
  RulePlace,
} from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { isGrpcRequest } from '../exchange/grpc.ts'
import type { Rejection } from '../exchange/rejection.ts'
import type { Reply } from '../exchange/reply.ts'
import type { PolicyPlace } from '../model/policy.ts'
import type { DecisionSettings } from '../model/settings.ts'
import { type ShowOrigin, showPart } from '../program/policy-record.ts'
import type { ListenerProgram } from '../program/program.ts'
import { createRequestId } from '../telemetry/create-request-id.ts'
import type {
  AttributeRecord,
  CallRecord,
  DecisionRecord,
  IdentifiedRecord,
  InvalidRecord,
  MissRecord,
  NearestRecord,
  RuleRecord,
} from '../telemetry/decision-record.ts'
import { type DecisionQuery, DecisionRing, selectDecisions } from '../telemetry/decision-ring.ts'
import {
  authorizationAuditDenials,
  authorizationDecisions,
} from '../telemetry/definitions/authorization.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { sourceOf } from './access-record.ts'
import { labelsOf } from './decision-sampler.ts'
import { compileRedaction, type IsShown } from './redaction.ts'
import type { UnroutedRequest } from './rejection.ts'
import {
  type OwnRejection,
  omissionsFrom,
  rejectionBy,
  rejectionFields,
} from './rejection-record.ts'
import type { RequestState } from './request-state.ts'

export interface DecisionOptions {
  readonly settings: DecisionSettings
  readonly sensitiveHeaders: readonly string[]
  readonly metrics: Metrics
  readonly log: Logger
  /** Where records go in addition to the ring: the file, or the process that writes it. */
  readonly write?: ((record: DecisionRecord) => void) | undefined
  readonly showOrigin?: ShowOrigin
}

type ClosedConnection = Pick<OwnRejection, 'cause' | 'detail'> & {
  readonly id?: string | undefined
}

const MAX_EXPRESSION = 2_048
const MAX_PATH = 1_024
const MAX_DETAIL = 1_024
const MAX_NAME = 256

/** Creates records of decisions, keeps the newest, and counts them. */
export class Decisions {
  readonly #ring: DecisionRing
  /** Of rejections: a flood of malformed requests must not evict decisions of rules. */
  readonly #rejections: DecisionRing
  readonly #isShown: IsShown
  readonly #options: DecisionOptions
  readonly #showOrigin: ShowOrigin

  constructor(options: DecisionOptions) {
    const { settings, sensitiveHeaders } = options
    this.#options = options
    this.#showOrigin = options.showOrigin ?? showPart
    this.#ring = new DecisionRing(settings.keep)
    this.#rejections = new DecisionRing(settings.keep)
    this.#isShown = compileRedaction(settings.show, sensitiveHeaders)
  }

  find(query: DecisionQuery): readonly DecisionRecord[] {
    const found = [...this.#ring.find(query), ...this.#rejections.find(query)]
    return selectDecisions(found, query)
  }

  /**
   * Called before a client has the response, so that the record can be found by the id. `reply`: a
   * response of the gateway itself.
   */
  request(run: RequestState, status: number, reply?: Reply): void {
    const { request, decisions, rejection } = run.exchange
    const place = placeOf(run, status)
    if (!run.isReported) {
      for (const decision of decisions) this.#decided(request.id, decision, place)
      if (rejection !== undefined) this.#rejected(request.id, rejection, place)
      for (const omission of omissionsFrom(run)) this.#refused(request.id, omission, place)
    }
    run.isReported = true
    const own = reply && rejectionBy(run, reply)
    if (own !== undefined) this.#refused(request.id, own, place)
  }

  /** A request without an exchange: it was not read, or no listener serves it. */
  unserved(
    connection: Connection,
    { id, gateway = '', method, host, path }: UnroutedRequest,
    { status, ...rejection }: Pick<OwnRejection, 'cause' | 'detail'> & { readonly status: number },
  ): void {
    this.#refused(
      id,
      { stage: 'traffic', ...rejection },
      {
        gateway,
        ...given({ method, host, path: path && cut(path, MAX_PATH), sni: connection.sni }),
        port: connection.destination.port,
        source: sourceOf(connection),
        status,
      },
    )
  }

  /** A connection that no rule denied, and that is closed nevertheless. Returns its id. */
  closed(
    at: { readonly gateway: string; readonly listener?: ListenerProgram | undefined },
    connection: Connection | undefined,
    { id = createRequestId(), ...rejection }: ClosedConnection,
  ): string {
    this.#refused(
      id,
      { stage: 'connection', ...rejection },
      {
        gateway: at.gateway,
        ...given({
          listener: at.listener?.listener.name,
          port: at.listener?.listener.port,
          sni: connection?.sni,
        }),
        source: connection === undefined ? '' : sourceOf(connection),
      },
    )
    return id
  }

  /** Clients see no id of a connection, so it gets a new one. */
  connection(
    connection: Connection,
    { gateway, listener }: ListenerProgram,
    decision: Decision,
  ): string {
    const id = createRequestId()
    this.#decided(id, decision, {
      gateway,
      listener: listener.name,
      ...given({ port: listener.port }),
      source: sourceOf(connection),
      ...given({ sni: connection.sni }),
    })
    return id
  }

  #decided(id: string, decision: Decision, place: Place): void {
    const { stage, isAllowed, isEnforced, audited, invalid, provider, isSkipped } = decision
    this.#count(decision)
    const show = this.#showOrigin
    const record: DecisionRecord = {
      id,
      time: new Date().toISOString(),
      kind: 'authorization',
      stage,
      verdict: isAllowed ? 'allowed' : 'denied',
      enforced: isEnforced,
      ...judgementOf(decision, show),
      ...given({ invalid: invalid && placed(invalid, show), provider }),
      ...(isSkipped ? { skipped: true as const } : {}),
      ...(audited === undefined ? {} : { audited: auditedOf(audited, show) }),
      ...place,
      attributes: decision.attributes.map((attribute) => this.#shown(attribute)),
    }
    this.#keep(record)
    const { cause, failure } = decision
    if (cause === 'pin') {
      // Approved content has changed: operators should know, whether it is enforced or not.
      this.#options.log.warn('decision', {
        'request.id': id,
        stage,
        verdict: isEnforced ? 'denied' : 'would-deny',
        cause,
        reason: failure?.reason,
        'src.addr': place.source,
      })
    } else if (!isAllowed && !isEnforced && this.#options.log.isOn('info')) {
      const { rule } = decision
      this.#options.log.info('decision', {
        'request.id': id,
        stage,
        verdict: 'would-deny',
        cause: decision.cause,
        policy: rule?.policy,
        rule: rule && `${rule.kind}[${rule.index}]`,
        'src.addr': place.source,
      })
    }
  }

  /** Authentication failed, or the request is cross-site: no rule was evaluated. */
  #rejected(id: string, { by, method, fault, detail }: Rejection, place: Place): void {
    const { policy, section, level, kind } = by
    const isCsrf = method === 'csrf'
    this.#keep({
      id,
      time: new Date().toISOString(),
      kind: isCsrf ? 'csrf' : 'authentication',
      stage: section === 'backend' ? 'backend' : 'traffic',
      verdict: 'denied',
      enforced: true,
      cause: isCsrf ? 'cross-site' : 'credentials',
      reason: fault,
      detail: cut(detail, MAX_DETAIL),
      credentials: { method, policy, section, level, kind },
      ...place,
      attributes: [],
    })
  }

  #refused(id: string, rejection: OwnRejection, place: Place): void {
    const detail = cut(rejection.detail, MAX_DETAIL)
    const own = rejectionFields({ ...rejection, detail }, this.#showOrigin)
    const record = { id, time: new Date().toISOString(), ...own, ...place, attributes: [] }
    this.#rejections.add(record)
    this.#options.write?.(record)
  }

  #keep(record: DecisionRecord): void {
    this.#ring.add(record)
    this.#options.write?.(record)
  }

  #count({ isAllowed, isEnforced, isSkipped, rule, invalid, cause }: Decision): void {
    // Allowed requests are counted where they are decided, sampled or not.
    if (isAllowed) return
    const { metrics } = this.#options
    const by = { policy: invalid?.policy ?? 'none', rule: 'none' }
    const labels = rule === undefined ? by : labelsOf(rule)
    const action = rule?.action ?? (cause === 'no-allow-match' ? 'Allow' : 'none')
    const word = cause === 'no-rules' ? 'none' : cause
    if (isEnforced) {
      const verdict = isSkipped ? 'skipped' : 'denied'
      metrics.counter(authorizationDecisions).of(labels).at(verdict, action, word).inc()
    } else metrics.counter(authorizationAuditDenials).of(labels).at(action, word).inc()
  }

  #shown({ name, value, missing, within }: Attribute): AttributeRecord {
    if (value === undefined) {
      const part = missing === name ? undefined : missing
      return { name, state: 'unset', ...given({ missing: part, within }) }
    }
    if (!this.#isShown(name)) return { name, state: 'redacted' }
    const { value: shown, isCut, inexact } = showValue(value)
    const state = isCut ? 'cut' : 'shown'
    return { name, state, value: shown, ...(inexact ? { inexact: true } : {}) }
  }
}

type Place = Pick<
  DecisionRecord,
  | 'gateway'
  | 'listener'
  | 'route'
  | 'backend'
  | 'method'
  | 'host'
  | 'path'
  | 'call'
  | 'status'
  | 'port'
  | 'source'
  | 'peer'
  | 'sni'
  | 'identified'
>

function placeOf(run: RequestState, status: number): Place {
  const { exchange, listener } = run
  const { request, connection } = exchange
  return {
    gateway: listener.gateway,
    listener: listener.listener.name,
    ...given({ route: run.route?.name || undefined, backend: run.backend?.name }),
    method: request.method,
    host: request.host,
    path: cut(request.path, MAX_PATH),
    ...given({ call: callOf(run) }),
    status,
    ...given({ port: listener.listener.port }),
    source: sourceOf(exchange),
    ...given({ peer: exchange.source === connection.source ? undefined : sourceOf(connection) }),
    ...given({ sni: connection.sni }),
    identified: identifiedIn(exchange),
  }
}

/** Names are the client's, and of any length. */
function callOf({ exchange, call }: RequestState): CallRecord | undefined {
  const { mcpRecord, a2a } = exchange
  const named = (protocol: CallRecord['protocol'], method: unknown, name = ''): CallRecord => ({
    protocol,
    ...(typeof method !== 'string' || method === '' ? {} : { method: cut(method, MAX_NAME) }),
    ...(name === '' ? {} : { name: cut(name, MAX_NAME) }),
  })
  if (call !== undefined) return named('llm', undefined, call.model)
  if (mcpRecord !== undefined) return named('mcp', mcpRecord.method, mcpRecord.asked)
  if (a2a !== undefined) return named('a2a', a2a['method'])
  return isGrpcRequest(exchange) ? { protocol: 'grpc' } : undefined
}

/** Only names: details of the identity are among the attributes, if they are shown. */
function identifiedIn({ identity }: Exchange): readonly IdentifiedRecord[] {
  const found: IdentifiedRecord[] = []
  for (let own = identity; own !== undefined; own = own.earlier) {
    const { policy, section, level, kind } = own.by as PolicyPlace
    found.unshift({ variable: own.variable, policy, section, level, kind })
  }
  return found
}

function judgementOf(judgement: Judgement, show: ShowOrigin) {
  const { cause, rule, failure, nearest, search } = judgement
  return {
    cause,
    ...failureOf(failure),
    ...(rule === undefined ? {} : { rule: ruleOf(rule, show) }),
    ...(nearest === undefined ? {} : { nearest: nearestOf(nearest, show) }),
    ...(search === undefined
      ? {}
      : { examined: { rules: search.rules, of: search.of, search: search.extent } }),
  }
}

function auditedOf({ isAllowed, cause, rule }: Judgement, show: ShowOrigin) {
  const verdict = isAllowed ? 'allowed' : 'denied'
  return { verdict, cause, ...(rule === undefined ? {} : { rule: ruleOf(rule, show) }) } as const
}

function nearestOf(
  { rule, misses }: NonNullable<Judgement['nearest']>,
  show: ShowOrigin,
): NearestRecord {
  return {
    ...ruleOf(rule, show),
    misses: misses.map(
      ({ condition, wanted, cause, failure }): MissRecord => ({
        condition: cut(condition, MAX_EXPRESSION),
        wanted,
        cause,
        ...failureOf(failure),
      }),
    ),
  }
}

function failureOf(failure: Failure | undefined) {
  if (failure === undefined) return {}
  const { reason, variable, present } = failure
  return {
    ...given({ reason: reason && cut(reason, MAX_DETAIL), variable }),
    ...(present.length === 0 ? {} : { present }),
  }
}

function placed({ origin, ...place }: InvalidPlace, show: ShowOrigin): InvalidRecord {
  return { ...place, origin: show(origin) }
}

function ruleOf(rule: RulePlace, show: ShowOrigin): RuleRecord {
  return { ...rule, origin: show(rule.origin), expression: cut(rule.expression, MAX_EXPRESSION) }
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`.toWellFormed()
}

/** Omits undefined values. A loop: each denial has several. */
function given<T extends object>(values: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const present: { [K in keyof T]?: NonNullable<T[K]> } = {}
  for (const key in values) {
    const value = values[key]
    if (value !== undefined) present[key] = value as NonNullable<T[typeof key]>
  }
  return present
}
