import { compile, STAGES } from '../cel/index.ts'
import { renderOrigin } from '../diagnostics/render.ts'
import { isAttached } from '../model/attachment.ts'
import type { AiProvider, McpTarget } from '../model/backend.ts'
import type { Gateway, Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached, Section } from '../model/policy.ts'
import type { Match, Route, RouteRule } from '../model/route.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import type { Authorization } from '../policies/authorization-rules.ts'
import { appliesAlways, POLICY_SCHEMAS } from '../policies/schema.ts'
import { type Compilation, layersAround, openCompilation } from './compilation.ts'
import { type Layer, reaching } from './layers.ts'
import type { Services } from './services.ts'

/** What guards each thing that serves, in the order in which it is asked. */
export interface Effective {
  readonly listeners: readonly EffectiveListener[]
}

export interface EffectiveListener {
  readonly gateway: string
  readonly listener: string
  readonly protocol: string
  readonly port: number | undefined
  readonly hostname: string | undefined
  /** Of connections. */
  readonly guards: readonly Guard[]
  readonly routes: readonly EffectiveRoute[]
}

export interface EffectiveRoute {
  readonly route: string
  readonly rule: string
  readonly hostnames: readonly string[]
  /** `GET /orders*`; of TCP none. */
  readonly matches: readonly string[]
  readonly guards: readonly Guard[]
  readonly backends: readonly EffectiveBackend[]
  readonly protection: Protection
}

export interface EffectiveBackend {
  readonly backend: string
  /** Of an AI backend those that hold for all its providers. */
  readonly guards: readonly Guard[]
  /** Of an AI backend, in the order of its groups. */
  readonly providers?: readonly EffectivePart[]
  /** The servers of an MCP backend that have rules of their own. */
  readonly targets?: readonly EffectivePart[]
}

/** One provider of an AI backend, or one server of an MCP backend. */
export interface EffectivePart {
  readonly name: string
  /** Beside those of the backend. */
  readonly guards: readonly Guard[]
  readonly protection: Protection
}

/**
 * `guarded`: clients must authenticate, or there are requests that no Allow or some Require rule
 * does not match. `partly-guarded`: the same of some of its hostnames, matches or backends, and
 * everything is admitted by others. `open-by-default`: Deny rules alone keep something out. `unknown`: it could not
 * be told whether Allow and Require rules keep anything out. `no-backend`: nothing is set before
 * it, and nothing is behind it: a redirect, a response of the gateway's own.
 */
export type Protection =
  | 'guarded'
  | 'partly-guarded'
  | 'open-by-default'
  | 'unknown'
  | 'unprotected'
  | 'no-backend'

/** One way through the gateway to a backend, or to one provider of it. */
export interface GuardedWay {
  readonly gateway: Gateway
  readonly listener: Listener
  /** Undefined: of a connection that is not HTTP. */
  readonly route: Route | undefined
  readonly rule: RouteRule | undefined
  readonly backend: string | undefined
  readonly provider: string | undefined
}

/**
 * Whether Allow and Require rules on a way keep out anything that comes without credentials: a
 * rule that every request satisfies guards nothing. It takes all rules of the way together, and
 * what the route matches, so that reading them one by one does not answer it. `part`: by some of
 * the hostnames and matches of the route something is kept out, by others nothing.
 */
export type RuleGuard = (way: GuardedWay) => 'something' | 'part' | 'nothing' | 'unknown'

export interface Guard {
  readonly kind: string
  readonly policy: string
  readonly level: string
  readonly origin: string
  /** Whether anything is turned away by it; blocks in audit mode turn nothing away. */
  readonly isEnforced: boolean
  readonly isInvalid: boolean
  readonly rules: readonly GuardRule[]
}

export interface GuardRule {
  readonly action: string
  readonly expression: string
}

/** By the same layers as the Program, which is not compiled for it. */
export function effectivePolicies(
  model: Model,
  services: Services,
  rulesGuard: RuleGuard,
): Effective {
  const compilation = openCompilation(model, undefined, services)
  const surveyed = { compilation, rulesGuard }
  const listeners = model.gateways.flatMap((gateway) =>
    gateway.listeners.map((listener) => listenerOf(surveyed, gateway, listener)),
  )
  return { listeners }
}

interface Surveyed {
  readonly compilation: Compilation
  readonly rulesGuard: RuleGuard
}

function listenerOf(surveyed: Surveyed, gateway: Gateway, listener: Listener): EffectiveListener {
  const { compilation } = surveyed
  const { model } = compilation
  const around = layersAround(compilation, { gateway, listener })
  const guards = [...certificateGuards(listener), ...guardsOf(around, 'frontend')]
  const isHttp = listener.protocol === 'HTTP' || listener.protocol === 'HTTPS'
  const own = <R extends Route | TcpRoute>(routes: readonly R[]) =>
    routes.filter((route) => isAttached(route, gateway, listener))
  const routes = isHttp
    ? own(model.routes).flatMap((route) =>
        route.rules.map((rule, index) =>
          routeOf(surveyed, { gateway, listener, route, rule, index }, guards),
        ),
      )
    : own(model.tcpRoutes).map((route) => streamOf(surveyed, { gateway, listener }, route, guards))
  const { name, protocol, port, hostname } = listener
  return { gateway: gateway.name, listener: name, protocol, port, hostname, guards, routes }
}

/** Nobody without a certificate gets as far as a request. */
function certificateGuards({ name, protocol, origin, ...rest }: Listener): readonly Guard[] {
  if ((protocol !== 'HTTPS' && protocol !== 'TLS') || !('tls' in rest)) return []
  const { tls } = rest
  const clients = tls.mode === 'Terminate' ? tls.clients : undefined
  if (clients === undefined) return []
  return [
    {
      kind: 'clientCertificates',
      policy: `listener:${name}`,
      level: clients.mode === 'Require' ? 'required' : 'optional',
      origin: renderOrigin(origin),
      isEnforced: clients.mode === 'Require',
      isInvalid: false,
      rules: [],
    },
  ]
}

interface RulePlace {
  readonly gateway: Gateway
  readonly listener: Listener
  readonly route: Route
  readonly rule: RouteRule
  readonly index: number
}

function routeOf(surveyed: Surveyed, where: RulePlace, network: readonly Guard[]): EffectiveRoute {
  const { compilation, rulesGuard } = surveyed
  const { gateway, listener, route, rule, index } = where
  const layers = layersAround(compilation, where)
  const guards = guardsOf(layers, 'traffic')
  const before = [...network, ...guards]
  const wayTo = (backend?: string, provider?: string): GuardedWay => {
    return { gateway, listener, route, rule, backend, provider }
  }
  const protect = (behind: readonly Guard[], backend?: string, provider?: string) =>
    protectionOf([...before, ...behind], () => rulesGuard(wayTo(backend, provider)))
  const refs = rule.action.kind === 'forward' ? rule.action.backends : []
  const backends = refs.map((ref, number): EffectiveBackend => {
    const backend = compilation.backends.get(ref.backend)
    const named = compilation.layers.at(`backend ${ref.backend}`, backend?.policies ?? [])
    const own = compilation.layers.at(`ref ${route.name}/${index}/${number}`, ref.policies)
    return backendOf(compilation, ref.backend, [...layers, named, own], protect)
  })
  const behind = backends.map(({ backend, guards: own, providers }) =>
    providers === undefined
      ? protect(own, backend)
      : weakest(providers.map(({ protection }) => protection)),
  )
  return {
    route: route.name,
    rule: rule.name,
    hostnames: route.hostnames,
    matches: rule.matches.map(showMatch),
    guards,
    backends,
    protection: behind.length === 0 ? withoutBackend(protect([])) : byAnyOf(behind),
  }
}

function backendOf(
  { backends, layers }: Compilation,
  name: string,
  around: readonly Layer[],
  protect: (behind: readonly Guard[], backend: string, provider: string) => Protection,
): EffectiveBackend {
  const backend = backends.get(name)
  // Rules about MCP guard what speaks it.
  const guardsIn = (all: readonly Layer[]) =>
    guardsOf(all, 'backend').filter(({ kind }) => kind !== MCP_RULES || backend?.kind === 'mcp')
  const guards = guardsIn(around)
  const partOf = (noun: string, part: AiProvider | McpTarget): EffectivePart => {
    const own = layers.at(`${noun} ${name}/${part.name}`, part.policies)
    const all = guardsIn([...around, own])
    return { name: part.name, guards: guardsIn([own]), protection: protect(all, name, part.name) }
  }
  if (backend?.kind === 'ai') {
    const providers = backend.groups.flatMap((group) => group.providers)
    return { backend: name, guards, providers: providers.map((one) => partOf('provider', one)) }
  }
  if (backend?.kind !== 'mcp') return { backend: name, guards }
  const targets = backend.targets.map((one) => partOf('target', one))
  return { backend: name, guards, targets: targets.filter((one) => one.guards.length > 0) }
}

function streamOf(
  { rulesGuard }: Surveyed,
  { gateway, listener }: Pick<RulePlace, 'gateway' | 'listener'>,
  route: TcpRoute,
  network: readonly Guard[],
): EffectiveRoute {
  const refs = route.action.kind === 'forward' ? route.action.backends : []
  const nothing = { route: undefined, rule: undefined, backend: undefined, provider: undefined }
  return {
    route: route.name,
    rule: '',
    hostnames: route.hostnames,
    matches: [],
    guards: [],
    backends: refs.map(({ backend }) => ({ backend, guards: [] })),
    protection: protectionOf(network, () => rulesGuard({ gateway, listener, ...nothing })),
  }
}

const STRENGTH: readonly Protection[] = [
  'unprotected',
  'open-by-default',
  'unknown',
  'partly-guarded',
  'guarded',
]

/** Of providers: whoever one of them denies may be served by another. */
function weakest(all: readonly Protection[]): Protection {
  return STRENGTH[Math.min(...all.map((one) => STRENGTH.indexOf(one)))] as Protection
}

/** Of backends that requests are spread over: what holds of one of them does not hold of all. */
function byAnyOf(all: readonly Protection[]): Protection {
  const [first = 'unprotected', ...others] = all
  if (others.every((one) => one === first)) return first
  if (all.includes('unknown')) return 'unknown'
  // Not one kind alone, so that something is kept out on the way to one of them.
  const isGuarding = all.includes('guarded') || all.includes('partly-guarded')
  return isGuarding ? 'partly-guarded' : 'open-by-default'
}

function withoutBackend(before: Protection): Protection {
  return before === 'unprotected' ? 'no-backend' : before
}

const MCP_RULES = 'mcpAuthorization'

/** By all that is on one way together. */
function protectionOf(
  guards: readonly Guard[],
  rulesGuard: () => ReturnType<RuleGuard>,
): Protection {
  const enforced = guards.filter(({ isEnforced }) => isEnforced)
  // Authentications, and what is invalid and denies everything.
  if (enforced.some(({ rules }) => rules.length === 0)) return 'guarded'
  const rulesOf = (own: readonly Guard[]) => own.flatMap(({ rules }) => rules)
  const isAsking = ({ action }: GuardRule) => action !== 'Deny'
  // Rules about messages of MCP are a stage of their own, which nothing passes that speaks no MCP.
  const messages = rulesOf(enforced.filter(({ kind }) => kind === MCP_RULES))
  if (messages.some((rule) => isAsking(rule) && !isAlwaysTrue(rule))) return 'guarded'
  const requests = rulesOf(enforced.filter(({ kind }) => kind !== MCP_RULES))
  if (requests.some(isAsking)) {
    const found = rulesGuard()
    if (found === 'something') return 'guarded'
    if (found === 'part') return 'partly-guarded'
    if (found === 'unknown') return 'unknown'
  }
  const isDenying = [...messages, ...requests].some(({ action }) => action === 'Deny')
  return isDenying ? 'open-by-default' : 'unprotected'
}

function isAlwaysTrue({ expression }: GuardRule): boolean {
  const term = compile(expression, STAGES.mcp).expression?.term
  return term?.kind === 'constant' && term.value === true
}

const GUARDING: ReadonlySet<string> = new Set([
  ...POLICY_SCHEMAS.filter(({ identifies }) => identifies.length > 0).map(({ kind }) => kind),
  'authorization',
  'networkAuthorization',
  MCP_RULES,
])

function guardsOf(layers: readonly Layer[], section: Section): readonly Guard[] {
  const { byKind, invalid } = reaching(layers, section)
  const valid = POLICY_SCHEMAS.flatMap(({ kind }) => byKind.get(kind) ?? [])
  return [...invalid, ...valid].filter(({ kind }) => GUARDING.has(kind)).map(guardOf)
}

/** Of rules, and of authentications that have modes of their own. */
interface Moded extends Pick<Authorization, 'rules'> {
  readonly mode: string
}

function guardOf(policy: Attached): Guard {
  const { kind, policy: name, level, origin } = policy
  const place = { kind, policy: name, level, origin: renderOrigin(origin) }
  if (policy.state === 'invalid') return { ...place, isEnforced: true, isInvalid: true, rules: [] }
  const { rules, mode } = policy.value as Partial<Moded>
  // An authentication that takes everybody turns nobody away.
  const isMeant = mode !== 'Audit' && mode !== 'Optional' && mode !== 'Permissive'
  const isEnforced = isMeant && appliesAlways(policy.value)
  return {
    ...place,
    isEnforced,
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
