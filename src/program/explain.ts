import type { JsonObject } from '../cel/values/value.ts'
import { RequestAttributes } from '../exchange/attributes.ts'
import { type ClientCertificate, Connection } from '../exchange/connection.ts'
import type { Decision, ExplainedRule, RulePlace } from '../exchange/decision.ts'
import { Exchange } from '../exchange/exchange.ts'
import type { IdentityVariable } from '../exchange/identity.ts'
import { destinationOf, sourceOf } from '../exchange/peer.ts'
import { PlainHeaders } from '../exchange/plain-headers.ts'
import type { Reply } from '../exchange/reply.ts'
import { clientsOf, servesRequests } from '../model/gateway.ts'
import { rankFor } from '../model/hostnames.ts'
import type { Attached } from '../model/policy.ts'
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
import { type ExplainedTool, explainMessage } from './explain-mcp.ts'
import {
  limitsAt,
  tooLong,
  type Unasked,
  unaskedAt,
  unaskedBy,
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

/** A request that nobody sent, as it would reach the rules. */
export interface HypotheticalRequest {
  readonly method: string
  /** Normalised, where it is explained. */
  readonly path: string
  /** With its question mark, or empty. */
  readonly search: string
  readonly host: string
  /** 'HTTP/1.1' unless it says otherwise. */
  readonly version?: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Undefined: it has none, or nobody said what is in it. */
  readonly body?: HypotheticalBody | undefined
  /** All of it is said: without `body` it has none. */
  readonly isWhole?: true
  readonly source: string
  readonly sourcePort: number
  /** Empty: the client sends none. Undefined: it is not known, and none stands against it. */
  readonly sni?: string | undefined
  readonly certificate?: ClientCertificate | undefined
  /** Who asks, as authentication would have found out. */
  readonly identity: Readonly<Partial<Record<IdentityVariable, JsonObject>>>
  /** Which listener, where the host does not tell: see `listenersCalled`. */
  readonly listener?: string | undefined
  readonly backend?: string | undefined
  /** Of an AI backend: the one that is asked; all, where it has none of this name. */
  readonly provider?: string | undefined
}

export interface ExplainedStage {
  readonly stage: 'connection' | 'traffic' | 'backend' | 'mcp'
  /** The backend, at that stage and after it. */
  readonly name: string
  /** Of an AI backend there is a stage for each provider: it is enough that one of them allows it. */
  readonly provider?: string
  /** By the same function as in the proxy; undefined: allowed. */
  readonly decision: Decision | undefined
  /** Of what is allowed: the Allow rule that the gateway counts it for. */
  readonly admitting: RulePlace | undefined
  readonly rules: readonly ExplainedRule[]
  /** What a client gets if it is denied here; 403 by default. */
  readonly deniedStatus?: number
}

export interface ExplainedRequest {
  readonly gateway: string
  readonly listener: string
  /** Empty where none matches. */
  readonly route: string
  /** Authentications that come before any rule. */
  readonly authentications: readonly Attached[]
  readonly stages: readonly ExplainedStage[]
  /** Why the connection is closed though no rule denies it: no route of a TCP or TLS listener takes it. */
  readonly closed?: string | undefined
  /** What a policy responds before authentication and rules: to a preflight of CORS. */
  readonly early?: Reply | undefined
  /** Whose page it is by which somebody signs in or out: no rule and no backend is asked. */
  readonly signInPage?: string | undefined
  /** What the gateway responds itself to a request that is allowed: a redirect, 404. */
  readonly late?: Reply | undefined
  /** Those of them that would have to verify a credential of the request. */
  readonly unverified?: readonly Attached[] | undefined
  /** Policies that would call a service about it, in their order. */
  readonly unasked?: readonly Unasked[] | undefined
  /** Limits that it may be over, by kind and policy. */
  readonly limits?: readonly string[] | undefined
  /** Why it cannot be told what the backend's rules decide. */
  readonly unknown?: string | undefined
  /** Of a list of MCP tools: those that are known from pins. */
  readonly tools?: readonly ExplainedTool[] | undefined
}

/** What would be decided about a request at each stage, and by what; a text where none serves it. */
export function explainRequest(
  program: Program,
  hypothetical: HypotheticalRequest,
  dice: { value: number },
): ExplainedRequest | string {
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
    rules: network?.explain(connection) ?? [],
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
  const traffic = stageOf('traffic', '', route.decider, exchange)
  const before = unaskedAt(route, exchange, hypothetical)
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
    return { ...passed, unasked: before.unasked, stages: [first, traffic], late: chosen }
  }
  const sent = hypothetical.body ?? (hypothetical.isWhole === true ? NO_BODY : undefined)
  const called = describedAt(chosen, exchange, sent) ?? calledAt(chosen, exchange, sent)
  // Before a provider is chosen there is nothing that its rules could say.
  const isOver = called.late !== undefined
  const last = isOver ? [] : backendStages(chosen, exchange, hypothetical.provider, called)
  const { upstream } = chosen
  const { unasked, late: own } = unaskedBy(before, chosen, exchange, hypothetical, allowedIn(last))
  const found = { ...passed, unasked }
  const rejected = own ?? tooLong(route, hypothetical) ?? tooLong(chosen, hypothetical)
  if (rejected !== undefined) return { ...found, stages: [first, traffic, ...last], late: rejected }
  if (upstream.kind === 'mcp') {
    // Rules about messages read what it sets.
    replyOf(chosen, TRANSFORMING, exchange)
    replyOf(chosen, GUARDING, exchange)
    const { stage, late, unknown, tools } = explainMessage(upstream, exchange, sent)
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

/** Of AI backends. */
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

function backendStages(
  { name, decider, upstream }: BackendProgram,
  exchange: Exchange,
  wanted: string | undefined,
  { call, candidates }: Called,
): readonly ExplainedStage[] {
  if (upstream.kind !== 'ai') return [stageOf('backend', name, decider, exchange)]
  const providers = candidates?.map(({ program }) => program) ?? upstream.providers
  const named = providers.filter(({ provider }) => provider === wanted)
  return [...new Set(named.length === 0 ? providers : named)].map((one) => {
    exchange.backend = one.attributes
    exchange.llm = call?.attributesFor(one.provider) ?? one.llm
    return { ...stageOf('backend', name, one.decider, exchange), provider: one.provider }
  })
}

/** What stands against the request at its backend; of several providers, where none may be asked. */
export function denialOf(stages: readonly ExplainedStage[]): Decision | undefined {
  const before = stages.filter(({ provider }) => provider === undefined).find(isDenied)
  const providers = stages.filter(({ provider }) => provider !== undefined)
  const isRejected = providers.length > 0 && providers.every(isDenied)
  return before?.decision ?? (isRejected ? providers.at(-1)?.decision : undefined)
}

export function isDenied({ decision }: ExplainedStage): boolean {
  return decision?.isEnforced === true && !decision.isAllowed
}

/**
 * Those of a name: `gateway/listener` goes before the name of a gateway, and that before the name
 * of a listener, which more than one gateway may have. Without a name, all.
 */
export function listenersCalled(
  listeners: readonly ListenerProgram[],
  wanted: string | undefined,
): readonly ListenerProgram[] {
  if (wanted === undefined) return listeners
  const exact = listeners.filter((one) => `${one.gateway}/${one.listener.name}` === wanted)
  if (exact.length > 0) return exact
  const own = listeners.filter(({ gateway }) => gateway === wanted)
  return own.length > 0 ? own : listeners.filter(({ listener }) => listener.name === wanted)
}

/** Whether clients are asked for a certificate; of others none is seen. */
export function clientCertificates({
  listener,
}: Pick<ListenerProgram, 'listener'>): 'Require' | 'Optional' | undefined {
  return clientsOf(listener)
}

function listenerFor(
  { listeners }: Program,
  { host, sni, listener: wanted }: HypotheticalRequest,
): ListenerProgram | undefined {
  const named = listenersCalled(listeners, wanted)
  const rank = ({ listener }: ListenerProgram) => {
    const name = servesRequests(listener) ? host : (sni ?? '')
    return rankFor(listener.hostname, name)
  }
  const able = named.filter(
    (one) =>
      one.listener.protocol !== 'Invalid' && (wanted !== undefined || servesRequests(one.listener)),
  )
  const [best] = able.filter((one) => rank(one) >= 0).sort((a, b) => rank(b) - rank(a))
  return best
}

function connectionOf(
  program: ListenerProgram,
  { source, sourcePort, sni, certificate }: HypotheticalRequest,
): Connection | undefined {
  const { listener } = program
  const from = sourceOf(source, sourcePort)
  // `destination.hostname` is set on listeners of protocol TLS alone.
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

/** The route that takes it, and what it needs of the body; undefined where no route is asked. */
export function bodyReaderOf(
  program: Program,
  hypothetical: HypotheticalRequest,
): { readonly exchange: Exchange; readonly needs: BodyNeeds } | undefined {
  const listener = listenerFor(program, hypothetical)
  const connection = listener && connectionOf(listener, hypothetical)
  if (listener === undefined || connection === undefined) return undefined
  if (!servesRequests(listener.listener)) return undefined
  const exchange = exchangeOf(connection, listener, hypothetical)
  const route = listener.match(exchange)
  if (readsBodyFirst(route)) {
    return { exchange, needs: { whole: route.readsBody, decoded: route.decodesBody === true } }
  }
  // Nobody reads it but a call to a model, whole and decoded.
  return { exchange, needs: { whole: true, decoded: true } }
}

interface BodyNeeds {
  readonly whole: boolean
  readonly decoded: boolean
}

/** As if the authentication had found out just this. */
function identify(exchange: Exchange, policy: Attached, { identity }: HypotheticalRequest): void {
  const { accepted, variables, rejection } = recognize(policy, identity)
  // Rules that no request gets to say what they would all the same.
  const isTurnedAway = rejection !== undefined && accepted.length === 0 && !isPermissive(policy)
  for (const variable of isTurnedAway ? variables : accepted) {
    const value = identity[variable]
    if (value !== undefined) exchange.identify(policy, variable, value)
  }
}

/** It lets a token pass that it does not accept, and its claims are seen by no rule. */
function isPermissive({ state, value }: Attached & { readonly value?: unknown }): boolean {
  return state === 'valid' && (value as { readonly mode?: string }).mode === 'Permissive'
}

function stageOf(
  stage: 'traffic' | 'backend',
  name: string,
  decider: BackendProgram['decider'],
  exchange: Exchange,
): ExplainedStage {
  const variables = exchange as unknown as Parameters<NonNullable<typeof decider>['decide']>[0]
  return {
    stage,
    name,
    decision: decider?.decide(variables),
    admitting: decider?.admittedBy(variables),
    rules: decider?.explain(variables) ?? [],
  }
}

/**
 * Backends are chosen by weight: the dice are turned until it is the one that was asked for. Where
 * the route has none of this name, the first that it has.
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
