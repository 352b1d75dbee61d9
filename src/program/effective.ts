import type { Origin } from '../diagnostics/diagnostic.ts'
import { locate, NO_PLACES, type Places } from '../diagnostics/places.ts'
import { renderOrigin } from '../diagnostics/render.ts'
import {
  type AiBackend,
  type Backend,
  type McpPins,
  type McpTarget,
  partsOf,
} from '../model/backend.ts'
import { clientsOf, type Listener, servesRequests } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached, Section } from '../model/policy.ts'
import type { Match } from '../model/route.ts'
import type { Authorization } from '../policies/authorization-rules.ts'
import { valuesOf } from '../policies/conditional.ts'
import type { DirectResponse } from '../policies/direct-response/schema.ts'
import { failsOpen } from '../policies/ext-authz/schema.ts'
import { appliesAlways, POLICY_SCHEMAS } from '../policies/schema.ts'
import { knownTools, readPinFile } from '../protocols/mcp/schema.ts'
import { effectiveAt } from '../reach/effective.ts'
import { kindsThat } from '../reach/kinds.ts'
import type { Layer } from '../reach/layers.ts'
import { Reach } from '../reach/reach.ts'
import type { RefPlace, RulePlace, StreamPlace, Where } from '../reach/where.ts'
import {
  byAnyOf,
  type Guard,
  type GuardedWay,
  isShut,
  MCP_RULES,
  type Protection,
  protectionOf,
  type RuleGuard,
  STRENGTH,
  weakest,
} from './protection.ts'

/** The guards of everything that serves requests, in evaluation order. */
export interface Effective {
  readonly listeners: readonly EffectiveListener[]
}

export interface EffectiveListener {
  readonly gateway: string
  readonly listener: string
  readonly protocol: string
  readonly port: number | undefined
  readonly hostname: string | undefined
  /** For connections. */
  readonly guards: readonly Guard[]
  readonly routes: readonly EffectiveRoute[]
}

export interface EffectiveRoute {
  readonly route: string
  readonly rule: string
  readonly hostnames: readonly string[]
  /** Such as `GET /orders*`; empty for TCP. */
  readonly matches: readonly string[]
  readonly guards: readonly Guard[]
  readonly backends: readonly EffectiveBackend[]
  readonly protection: Protection
}

export interface EffectiveBackend {
  readonly backend: string
  /** For an AI backend: the guards that apply to all its providers. */
  readonly guards: readonly Guard[]
  /** For an AI backend, in the order of its groups. */
  readonly providers?: readonly EffectivePart[]
  /** The models that clients can request by name, if the backend defines any. */
  readonly models?: readonly EffectiveModel[]
  /**
   * The servers of an MCP backend that have their own rules, pins or known tools, and unguarded
   * servers if others are guarded.
   */
  readonly targets?: readonly EffectivePart[]
}

/** One provider of an AI backend, or one server of an MCP backend. */
export interface EffectivePart {
  readonly name: string
  /** In addition to those of the backend. */
  readonly guards: readonly Guard[]
  readonly protection: Protection
  /** For an MCP server: the approved tools. */
  readonly pins?: EffectivePins
  /** For an API whose description is in the configuration: the tools made from it. */
  readonly tools?: readonly string[]
}

export interface EffectivePins {
  readonly mode: 'Enforce' | 'Audit'
  readonly tools: readonly string[]
}

/** A model that clients can request by name; excludes models that only virtual ones can reach. */
export interface EffectiveModel {
  readonly name: string
  /** How a virtual model chooses its target. */
  readonly routing?: string
  /** The providers that may serve it. */
  readonly providers: readonly string[]
  /** The protection of its least protected provider. */
  readonly protection: Protection
}

/** Uses the same layers as the Program, but does not compile one. */
export function effectivePolicies(
  model: Model,
  rulesGuard: RuleGuard,
  places: Places = NO_PLACES,
): Effective {
  const reach = new Reach(model)
  const showOrigin = (origin: Origin) => renderOrigin(locate(places, origin))
  const surveyed = { reach, rulesGuard, showOrigin }
  return { listeners: [...reach.listeners()].map((where) => listenerOf(surveyed, where)) }
}

interface Surveyed {
  readonly reach: Reach
  readonly rulesGuard: RuleGuard
  readonly showOrigin: ShowOrigin
}

type ShowOrigin = (origin: Origin) => string

function listenerOf(surveyed: Surveyed, where: Where): EffectiveListener {
  const { reach, showOrigin } = surveyed
  const { gateway, listener } = where
  const network = guardsOf(reach.around(where), 'frontend', showOrigin)
  const guards = [...certificateGuards(listener, showOrigin), ...network]
  const routes = servesRequests(listener)
    ? [...reach.rulesOn(where)].map((place) => routeOf(surveyed, place, guards))
    : [...reach.streamsOn(where)].map((place) => streamOf(surveyed, place, guards))
  const { name, protocol, port, hostname } = listener
  return { gateway: gateway.name, listener: name, protocol, port, hostname, guards, routes }
}

/** A client without a certificate cannot send a request. */
function certificateGuards(listener: Listener, showOrigin: ShowOrigin): readonly Guard[] {
  const { name, origin } = listener
  const mode = clientsOf(listener)
  if (mode === undefined) return []
  return [
    {
      kind: 'clientCertificates',
      policy: `listener:${name}`,
      level: mode === 'Require' ? 'required' : 'optional',
      origin: showOrigin(origin),
      isEnforced: mode === 'Require',
      isInvalid: false,
      rules: [],
    },
  ]
}

/** The admin API checks every caller itself, on ports of gateways in any case. */
function adminGuard({ name, origin }: Backend, showOrigin: ShowOrigin): Guard {
  return {
    kind: 'adminAuth',
    policy: `backend:${name}`,
    level: 'backend',
    origin: showOrigin(origin),
    isEnforced: true,
    isInvalid: false,
    rules: [],
  }
}

function routeOf(surveyed: Surveyed, where: RulePlace, network: readonly Guard[]): EffectiveRoute {
  const { reach, rulesGuard, showOrigin } = surveyed
  const { gateway, listener, route, rule } = where
  const layers = reach.around(where)
  const guards = guardsOf(layers, 'traffic', showOrigin)
  const before = [...network, ...guards]
  const wayTo = (backend?: string, provider?: string): GuardedWay => {
    return { gateway, listener, route, rule, backend, provider }
  }
  const protect = (behind: readonly Guard[], backend?: string, provider?: string) =>
    protectionOf([...before, ...behind], wayTo(backend, provider), rulesGuard)
  const refs = [...reach.refsOf(where)]
  const jointly: Jointly = (parts, { guards: own, backend }, model) => {
    const all = weakest(parts.map(({ protection }) => protection))
    if (parts.length < 2 || STRENGTH.indexOf(all) < STRENGTH.indexOf('partly-guarded')) return all
    if (parts.every((part) => part.guards.some(isShut))) return all
    if (protect(own, backend) === 'guarded') return all
    const way = { ...wayTo(backend), ...(model === undefined ? {} : { model }) }
    return rulesGuard(way) === 'something' ? all : 'unknown'
  }
  const backends = refs.map((ref) =>
    backendOf(surveyed, ref, reach.behind(layers, ref), protect, jointly),
  )
  // A backend with weight 0 gets no requests, so it neither guards nor admits any.
  const sharing = backends.filter((_, index) => (refs[index]?.ref.weight ?? 0) > 0)
  const behind = sharing.map((one) =>
    one.providers === undefined ? protect(one.guards, one.backend) : jointly(one.providers, one),
  )
  return {
    route: route.name,
    rule: rule.name,
    hostnames: route.hostnames,
    matches: rule.matches.map(showMatch),
    guards,
    backends,
    protection: behind.length > 0 ? byAnyOf(behind) : whenOwn(protect([]), layers),
  }
}

/** A response of the gateway itself, which may be something to guard. */
function whenOwn(found: Protection, layers: readonly Layer[]): Protection {
  return found === 'unprotected' && !showsContent(layers) ? 'no-backend' : found
}

function showsContent(layers: readonly Layer[]): boolean {
  const found = effectiveAt(layers, 'traffic').byKind.get('directResponse') ?? []
  const values = found.flatMap(({ value }) => valuesOf(value)) as readonly DirectResponse[]
  return values.some(({ status, body = '', bodyExpression }) => {
    return status < 400 && (body !== '' || bodyExpression !== undefined)
  })
}

/**
 * A client that one of several providers denies may be served by another: even if each of them
 * denies some clients, there may be no client that all of them deny.
 */
type Jointly = (
  parts: readonly EffectivePart[],
  backend: Pick<EffectiveBackend, 'guards' | 'backend'>,
  model?: string,
) => Protection

function backendOf(
  { reach, showOrigin }: Surveyed,
  { ref, backend }: RefPlace,
  around: readonly Layer[],
  protect: (behind: readonly Guard[], backend: string, provider: string) => Protection,
  jointly: Jointly,
): EffectiveBackend {
  const name = ref.backend
  // Rules about MCP guard only MCP traffic.
  const guardsIn = (all: readonly Layer[]) =>
    guardsOf(all, 'backend', showOrigin).filter(
      ({ kind }) => !MCP_RULES.has(kind) || backend?.kind === 'mcp',
    )
  const guards = guardsIn(around)
  if (backend === undefined) return { backend: name, guards }
  if (backend.kind === 'admin')
    return { backend: name, guards: [...guards, adminGuard(backend, showOrigin)] }
  const parts = partsOf(backend).map((part): EffectivePart => {
    const own = 'provider' in part ? { backend, provider: part } : { backend, server: part }
    const all = guardsIn(reach.within(around, own))
    const beside = guardsIn(reach.within([], own))
    const protection = protect(all, name, part.name)
    const known = 'transport' in part ? toolsIn(part) : {}
    return { name: part.name, guards: beside, protection, ...known }
  })
  if (backend.kind === 'ai') {
    const models = modelsOf(backend, parts, (some, model) =>
      jointly(some, { backend: name, guards }, model),
    )
    return { backend: name, guards, providers: parts, ...(models === undefined ? {} : { models }) }
  }
  if (backend.kind !== 'mcp') return { backend: name, guards }
  const isGuarded = parts.some(({ protection }) => protection === 'guarded')
  const targets = parts.filter(
    ({ guards: own, pins, tools, protection }) =>
      own.length > 0 ||
      pins !== undefined ||
      tools !== undefined ||
      (isGuarded && protection !== 'guarded'),
  )
  return { backend: name, guards, targets }
}

function toolsIn(target: McpTarget): Pick<EffectivePart, 'pins' | 'tools'> {
  const { name, pins } = target
  const tools = target.transport === 'openapi' ? knownTools(target) : undefined
  return {
    ...(pins === undefined ? {} : { pins: pinsOf(name, pins) }),
    ...(tools === undefined ? {} : { tools }),
  }
}

/** A file that cannot be read approves nothing. */
function pinsOf(target: string, { mode, file }: McpPins): EffectivePins {
  const read = readPinFile(file.text)
  const tools = typeof read === 'string' ? undefined : read.get(target)
  return { mode, tools: [...(tools?.keys() ?? [])] }
}

function modelsOf(
  { models, virtualModels = [] }: AiBackend,
  parts: readonly EffectivePart[],
  jointly: (parts: readonly EffectivePart[], model: string) => Protection,
): readonly EffectiveModel[] | undefined {
  const protectionOfAll = (providers: readonly string[], name: string) =>
    jointly(
      parts.filter((one) => providers.includes(one.name)),
      name,
    )
  const plain = models
    ?.filter(({ isInternal }) => !isInternal)
    .map(({ name, provider }) => ({
      ...{ name, providers: [provider], protection: protectionOfAll([provider], name) },
    }))
  const virtual = virtualModels.map(({ name, routing, targets }) => {
    const providers = [...new Set(targets.map(({ provider }) => provider))]
    return { name, routing, providers, protection: protectionOfAll(providers, name) }
  })
  return plain && [...plain, ...virtual]
}

function streamOf(
  { rulesGuard }: Surveyed,
  { gateway, listener, stream }: StreamPlace,
  network: readonly Guard[],
): EffectiveRoute {
  const refs = stream.action.kind === 'forward' ? stream.action.backends : []
  const nothing = { route: undefined, rule: undefined, backend: undefined, provider: undefined }
  return {
    route: stream.name,
    rule: '',
    hostnames: stream.hostnames,
    matches: [],
    guards: [],
    backends: refs.map(({ backend }) => ({ backend, guards: [] })),
    protection: protectionOf(network, { gateway, listener, ...nothing }, rulesGuard),
  }
}

const GUARDING = kindsThat(({ hasRules, identifies }) => hasRules || identifies.length > 0)

function guardsOf(
  layers: readonly Layer[],
  section: Section,
  showOrigin: ShowOrigin,
): readonly Guard[] {
  const { byKind, invalid } = effectiveAt(layers, section)
  const valid = POLICY_SCHEMAS.flatMap(({ kind }) => byKind.get(kind) ?? [])
  return [...invalid, ...valid]
    .filter(({ kind }) => GUARDING.has(kind))
    .map((policy) => guardOf(policy, showOrigin))
}

/** Rules, and authentications that have their own modes. */
interface Moded extends Pick<Authorization, 'rules'> {
  readonly mode: string
}

function guardOf(policy: Attached, showOrigin: ShowOrigin): Guard {
  const { kind, policy: name, level, origin } = policy
  const place = { kind, policy: name, level, origin: showOrigin(origin) }
  if (policy.state === 'invalid') return { ...place, isEnforced: true, isInvalid: true, rules: [] }
  const { rules, mode } = policy.value as Partial<Moded>
  // An authentication that accepts everyone guards nothing.
  const isMeant = !['Audit', 'Optional', 'Permissive'].includes(mode ?? '')
  const isOpen = failsOpen(policy.value)
  const isAlways = !isOpen && appliesAlways(policy.value)
  return {
    ...place,
    isEnforced: isMeant && isAlways,
    ...(isMeant && !isAlways && { isConditional: true, ...(isOpen && { failsOpen: true }) }),
    isInvalid: false,
    rules: (rules ?? []).map(({ action, expression }) => ({ action, expression })),
  }
}

function showMatch({ path, method, headers, query }: Match): string {
  const tail = path.kind === 'prefix' ? '*' : ''
  const sign = path.kind === 'regex' ? '~' : ''
  const more = [
    ...headers.map(({ name }) => `header ${name}`),
    ...query.map(({ name }) => `query ${name}`),
  ]
  const end = more.length === 0 ? '' : ` (${more.join(', ')})`
  return `${method ?? 'any'} ${sign}${path.value}${tail}${end}`
}
