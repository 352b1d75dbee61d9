import type { JsonObject } from '../cel/values/value.ts'
import { RequestAttributes } from '../exchange/attributes.ts'
import { type ClientCertificate, Connection } from '../exchange/connection.ts'
import type { Decision, ExplainedRule, RulePlace } from '../exchange/decision.ts'
import { Exchange } from '../exchange/exchange.ts'
import type { IdentityVariable } from '../exchange/identity.ts'
import { destinationOf, sourceOf } from '../exchange/peer.ts'
import { PlainHeaders } from '../exchange/plain-headers.ts'
import type { Reply } from '../exchange/reply.ts'
import { servesRequests } from '../model/gateway.ts'
import type { Attached } from '../model/policy.ts'
import { runToCompletion } from '../model/steps.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import { Reach } from '../reach/reach.ts'
import { leadsToBackend, streamFor } from '../reach/streams.ts'
import {
  type Called,
  calledAt,
  describedAt,
  type HypotheticalBody,
  unprepared,
} from './explain-call.ts'
import { clientCertificates, listenerFor } from './explain-listener.ts'
import { type ExplainedTool, explainMessage } from './explain-mcp.ts'
import {
  limitsAt,
  tooLong,
  type UncalledService,
  uncalledAt,
  uncalledBy,
  unknownAddress,
} from './explain-services.ts'
import {
  EARLY,
  GUARDING,
  LATE,
  pageOf,
  replyOf,
  signInPageOf,
  TRANSFORMING,
} from './explain-steps.ts'
import { isUnverified, recognize } from './hypothetical-token.ts'
import {
  type BackendProgram,
  isReply,
  type ListenerProgram,
  type Program,
  type RouteProgram,
} from './program.ts'

/** A request that was not sent, as it would reach the rules. */
export interface HypotheticalRequest {
  readonly method: string
  /** Normalized when the request is explained. */
  readonly path: string
  /** With its question mark, or empty. */
  readonly search: string
  readonly host: string
  /** 'HTTP/1.1' by default. */
  readonly version?: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Undefined if the request has no body or its content is unknown. */
  readonly body?: HypotheticalBody | undefined
  /** The request is complete: without `body`, it has no body. */
  readonly isWhole?: true
  readonly source: string
  readonly sourcePort: number
  /** Empty if the client sends none. Undefined if unknown; nothing is rejected because of it. */
  readonly sni?: string | undefined
  readonly certificate?: ClientCertificate | undefined
  /** The client's identity, as authentication would have established it. */
  readonly identity: Readonly<Partial<Record<IdentityVariable, JsonObject>>>
  /** The listener, if the host does not determine it: see `listenersCalled`. */
  readonly listener?: string | undefined
  readonly backend?: string | undefined
  /** For an AI backend: the provider to call; all if the backend has no provider of this name. */
  readonly provider?: string | undefined
}

export interface ExplainedStage {
  readonly stage: 'connection' | 'traffic' | 'backend' | 'mcp'
  /** The backend, at that stage and after it. */
  readonly name: string
  /** An AI backend has a stage for each provider: one that allows the request is enough. */
  readonly provider?: string
  /** Computed by the same function as in the proxy; undefined if allowed. */
  readonly decision: Decision | undefined
  /** If allowed: the Allow rule that the gateway counts the request for. */
  readonly admitting: RulePlace | undefined
  readonly rules: readonly ExplainedRule[]
  /** The status that a client gets if it is denied here; 403 by default. */
  readonly deniedStatus?: number
}

export interface ExplainedRequest {
  readonly gateway: string
  readonly listener: string
  /** Empty if no route matches. */
  readonly route: string
  /** Authentications that run before any rule. */
  readonly authentications: readonly Attached[]
  readonly stages: readonly ExplainedStage[]
  /** Why the connection is closed although no rule denies it: no TCP or TLS route matches. */
  readonly closed?: string | undefined
  /** The reply of a policy before authentication and rules, as for a CORS preflight. */
  readonly early?: Reply | undefined
  /** The policy that serves this sign-in or sign-out page: rules and backends are skipped. */
  readonly signInPage?: string | undefined
  /** The gateway's own response to a request that is allowed: a redirect, 404. */
  readonly late?: Reply | undefined
  /** The authentications that would have to verify a credential of the request. */
  readonly unverified?: readonly Attached[] | undefined
  /** Policies that would call a service about the request, in order. */
  readonly uncalled?: readonly UncalledService[] | undefined
  /** Limits that the request may exceed, by kind and policy. */
  readonly limits?: readonly string[] | undefined
  /** Why the decision of the backend's rules cannot be determined. */
  readonly unknown?: string | undefined
  /** For a list of MCP tools: the tools known from pins. */
  readonly tools?: readonly ExplainedTool[] | undefined
}

/** The decision about a request at each stage, and its cause; a string if no listener serves it. */
export function explainRequest(
  program: Program,
  hypothetical: HypotheticalRequest,
  dice: { value: number },
): ExplainedRequest | string {
  return runToCompletion(explainSteps(program, hypothetical, dice))
}

/** The same, one rule at a time. */
export function* explainSteps(
  program: Program,
  hypothetical: HypotheticalRequest,
  dice: { value: number },
): Generator<void, ExplainedRequest | string> {
  const listener = listenerFor(program, hypothetical)
  if (listener === undefined) {
    const { listener: wanted } = hypothetical
    const called = wanted === undefined ? '' : ` or is named \`${wanted}\``
    return `no listener serves this host${called}`
  }
  const connection = connectionOf(listener, hypothetical)
  if (connection === undefined) return 'invalid IP address'
  const place = { gateway: listener.gateway, listener: listener.listener.name }
  const { network } = listener
  const first: ExplainedStage = {
    stage: 'connection',
    name: '',
    decision: network?.decide(connection),
    admitting: network?.admittedBy(connection),
    rules: network === undefined ? [] : yield* network.explain(connection),
  }
  if (!servesRequests(listener.listener)) {
    const stream = streamOf(program, listener, connection)
    const closed = stream !== undefined && leadsToBackend(stream) ? undefined : 'no-route'
    return { ...place, route: stream?.name ?? '', authentications: [], stages: [first], closed }
  }
  const exchange = exchangeOf(connection, listener, hypothetical)
  const route = listener.match(exchange)
  const authentications = route.authentications ?? []
  const { body } = hypothetical
  if (body !== undefined && readsBodyFirst(route)) exchange.request.body = body.content
  const unread = readsBodyFirst(route) ? body?.rejected : undefined
  const page = exchangeOf(connection, listener, hypothetical)
  const early = unread ?? replyOf(route, EARLY, exchange) ?? pageOf(route, page)
  for (const policy of authentications) identify(exchange, policy, hypothetical)
  const traffic = yield* stageOf('traffic', '', route.decider, exchange)
  const before = uncalledAt(route, exchange, hypothetical)
  const response = isDenied(traffic) ? undefined : (before.late ?? replyOf(route, LATE, exchange))
  for (const meter of route.meters ?? []) meter(exchange)
  const chosen = response ?? backendOf(() => route.choose(exchange), hypothetical.backend, dice)
  const signInPage = signInPageOf(route, exchange)
  const unverified = authentications.filter((one) =>
    isUnverified(one, exchange, hypothetical.identity),
  )
  const common = { ...place, route: route.name, authentications, unverified, early, signInPage }
  const passed = { ...common, limits: isDenied(traffic) ? [] : limitsAt(route) }
  if (isReply(chosen)) {
    return { ...passed, uncalled: before.uncalled, stages: [first, traffic], late: chosen }
  }
  const sent = hypothetical.body ?? (hypothetical.isWhole === true ? NO_BODY : undefined)
  const called = describedAt(chosen, exchange, sent) ?? calledAt(chosen, exchange, sent)
  // Before a provider is chosen, its rules have nothing to evaluate.
  const isOver = called.late !== undefined
  const last = isOver ? [] : yield* backendStages(chosen, exchange, hypothetical.provider, called)
  const { upstream } = chosen
  const about = [exchange, hypothetical, allowedIn(last)] as const
  const { uncalled, late: own } = uncalledBy(before, chosen, ...about)
  const found = { ...passed, uncalled }
  const rejected = own ?? tooLong([route, chosen], exchange, hypothetical)
  if (rejected !== undefined) return { ...found, stages: [first, traffic, ...last], late: rejected }
  if (upstream.kind === 'mcp') {
    // Rules about messages read the values that transformations set.
    replyOf(chosen, TRANSFORMING, exchange)
    replyOf(chosen, GUARDING, exchange)
    const { stage, late, unknown, tools } = yield* explainMessage(upstream, exchange, sent)
    const own = stage === undefined ? [] : [{ stage: 'mcp', name: chosen.name, ...stage } as const]
    return { ...found, stages: [first, traffic, ...last, ...own], late, unknown, tools }
  }
  const prepared = isOver ? called : unprepared(called, allowedIn(last), exchange)
  const unknown = called.unknown ?? prepared.unknown ?? unknownAddress(chosen, exchange)
  return { ...found, stages: [first, traffic, ...last], late: prepared.late, unknown }
}

const NO_BODY: HypotheticalBody = {
  content: new Uint8Array(),
  rejected: undefined,
  limits: { body: 0, json: 0 },
}

/** The providers of an AI backend that are not denied. */
function allowedIn(stages: readonly ExplainedStage[]): ReadonlySet<string> {
  return new Set(stages.flatMap((one) => (isDenied(one) ? [] : (one.provider ?? []))))
}

/** Whether the body is read before any policy runs. */
function readsBodyFirst({ readsBody, readsBeginning }: RouteProgram): boolean {
  return readsBody || readsBeginning === true
}

function streamOf(
  { model }: Program,
  own: ListenerProgram,
  { sni }: Connection,
): TcpRoute | undefined {
  const reach = new Reach(model)
  for (const where of reach.listeners()) {
    const { gateway, listener } = where
    if (gateway.name !== own.gateway || listener.name !== own.listener.name) continue
    return streamFor(reach.streamsOn(where), sni)
  }
  return undefined
}

function* backendStages(
  { name, decider, upstream }: BackendProgram,
  exchange: Exchange,
  wanted: string | undefined,
  { call, candidates }: Called,
): Generator<void, readonly ExplainedStage[]> {
  if (upstream.kind !== 'ai') return [yield* stageOf('backend', name, decider, exchange)]
  const providers = candidates?.map(({ program }) => program) ?? upstream.providers
  const named = providers.filter(({ provider }) => provider === wanted)
  const stages: ExplainedStage[] = []
  for (const one of new Set(named.length === 0 ? providers : named)) {
    exchange.backend = one.attributes
    exchange.llm = call?.attributesFor(one.provider) ?? one.llm
    const stage = yield* stageOf('backend', name, one.decider, exchange)
    stages.push({ ...stage, provider: one.provider })
  }
  return stages
}

/**
 * The decision that denies the request at its backend; if there are providers, all must deny it.
 */
export function denialOf(stages: readonly ExplainedStage[]): Decision | undefined {
  const before = stages.filter(({ provider }) => provider === undefined).find(isDenied)
  const providers = stages.filter(({ provider }) => provider !== undefined)
  const isRejected = providers.length > 0 && providers.every(isDenied)
  return before?.decision ?? (isRejected ? providers.at(-1)?.decision : undefined)
}

export function isDenied({ decision }: ExplainedStage): boolean {
  return decision?.isEnforced === true && !decision.isAllowed
}

function connectionOf(
  program: ListenerProgram,
  { source, sourcePort, sni, certificate }: HypotheticalRequest,
): Connection | undefined {
  const { listener } = program
  const from = sourceOf(source, sourcePort)
  // `destination.hostname` is set only on listeners of protocol TLS.
  const sent = sni === '' ? undefined : sni
  const name = listener.protocol === 'TLS' ? sent : undefined
  const to = destinationOf('127.0.0.1', listener.port ?? 0, name)
  if (from === undefined || to === undefined) return undefined
  if (clientCertificates(program) !== undefined) from.certificate = certificate
  const isEncrypted = listener.protocol === 'HTTPS' || listener.protocol === 'TLS'
  return new Connection(from, to, isEncrypted, sent, Date.now())
}

function exchangeOf(
  connection: Connection,
  { listener }: ListenerProgram,
  { method, path, search, host, headers, body, version = 'HTTP/1.1' }: HypotheticalRequest,
): Exchange {
  const scheme = listener.protocol === 'HTTPS' ? 'https' : 'http'
  const view = new PlainHeaders(headers)
  const at = Date.now()
  const request = new RequestAttributes(method, path, search, host, scheme, version, view, at)
  const exchange = new Exchange(connection, request)
  exchange.readingLimits = body?.limits
  return exchange
}

/** The route that matches, and how much of the body it needs; undefined if no route applies. */
export function bodyReaderOf(
  program: Program,
  hypothetical: HypotheticalRequest,
): { readonly exchange: Exchange; readonly needs: BodyNeeds } | undefined {
  const listener = listenerFor(program, hypothetical)
  const connection = listener && connectionOf(listener, hypothetical)
  const isServed = listener !== undefined && servesRequests(listener.listener)
  if (!isServed || connection === undefined) return undefined
  const exchange = exchangeOf(connection, listener, hypothetical)
  const route = listener.match(exchange)
  if (readsBodyFirst(route)) {
    return { exchange, needs: { whole: route.readsBody, decoded: route.decodesBody === true } }
  }
  return { exchange, needs: { whole: true, decoded: true, isCall: true } }
}

interface BodyNeeds {
  readonly whole: boolean
  readonly decoded: boolean
  readonly isCall?: boolean
}

/** Sets the identity as if the authentication had established it. */
function identify(exchange: Exchange, policy: Attached, { identity }: HypotheticalRequest): void {
  const { accepted, variables, rejection } = recognize(policy, identity)
  // Rules that no request reaches still show what they would decide.
  const isRejectedEarly = rejection !== undefined && accepted.length === 0 && !isPermissive(policy)
  for (const variable of isRejectedEarly ? variables : accepted) {
    const value = identity[variable]
    if (value !== undefined) exchange.identify(policy, variable, value)
  }
}

/** It admits a token that it does not accept, whose claims no rule sees. */
function isPermissive({ state, value }: Attached & { readonly value?: unknown }): boolean {
  return state === 'valid' && (value as { readonly mode?: string }).mode === 'Permissive'
}

function* stageOf(
  stage: 'traffic' | 'backend',
  name: string,
  decider: BackendProgram['decider'],
  exchange: Exchange,
): Generator<void, ExplainedStage> {
  const variables = exchange as unknown as Parameters<NonNullable<typeof decider>['decide']>[0]
  return {
    stage,
    name,
    decision: decider?.decide(variables),
    admitting: decider?.admittedBy(variables),
    rules: decider === undefined ? [] : yield* decider.explain(variables),
  }
}

/**
 * Backends are chosen by weight: the dice are changed until the wanted backend is chosen. If the
 * route has no backend of this name, the first one is returned.
 */
function backendOf(
  choose: () => BackendProgram | Reply,
  wanted: string | undefined,
  dice: { value: number },
): BackendProgram | Reply {
  const TURNS = 1_000
  let first: BackendProgram | Reply | undefined
  for (let turn = 0; turn < TURNS; turn++) {
    dice.value = turn / TURNS
    const chosen = choose()
    if (!isReply(chosen) && (wanted === undefined || chosen.name === wanted)) return chosen
    if (first === undefined || isReply(first)) first = chosen
  }
  return first as BackendProgram | Reply
}
