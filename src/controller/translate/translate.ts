import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { freeze } from '../../model/freeze.ts'
import type { Gateway, Listener } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached } from '../../model/policy.ts'
import type { Parent, Route } from '../../model/route.ts'
import type { Settings } from '../../model/settings.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { checkDynamicPolicies } from '../../reach/dynamic-policies.ts'
import {
  checkAiOnlyPolicies,
  checkMcpOnlyPolicies,
  withoutEffectOnProviders,
} from '../../reach/part-policies.ts'
import { unenforcedOnStreams } from '../../reach/stream-policies.ts'
import { byAge } from '../cluster/object.ts'
import type { Snapshot } from '../cluster/snapshot.ts'
import { GATEWAY_API, type LabelSelector } from '../resources/metadata.ts'
import { grpcRoute, httpRoute, streamRoute } from '../resources/routes.ts'
import { BackendTlsPolicies } from './backend-tls.ts'
import { Backends } from './backends.ts'
import type { ObjectStatus, Refusal, Verdict } from './conditions.ts'
import { draftGateways, type GatewayDraft } from './gateways.ts'
import { readGrpcRoute, readHttpRoute } from './http-route.ts'
import { type PlacedListener, toListener } from './listeners.ts'
import { type Attachment, attachmentsOf } from './parents.ts'
import { Policies } from './policies.ts'
import { remembered } from './remembered.ts'
import { Endpoints } from './services.ts'
import { statusesOf } from './statuses.ts'
import { readStreamRoute } from './stream-route.ts'
import { ClusterView, originOf, type Read } from './view.ts'

export interface TranslateOptions {
  readonly controllerName: string
  /** Of the proxies themselves; a cluster says them elsewhere. */
  readonly settings: Settings
  readonly discoverySelectors?: readonly LabelSelector[]
  readonly gatewayNamespaces?: readonly string[]
  /** Services and Secrets that are not there are taken to exist: for manifests. */
  readonly assumesMissing?: boolean
}

export interface Translation {
  /** `namespace/name` of a Gateway → what its proxies are to do. */
  readonly models: ReadonlyMap<string, Model>
  readonly statuses: readonly ObjectStatus[]
  readonly diagnostics: readonly Diagnostic[]
}

/** A route, the parents that it names, and what became of it. */
export interface RouteOutcome {
  readonly read: Read
  readonly attachments: readonly Attachment[]
  readonly resolved: readonly Verdict[]
  readonly problems: readonly Refusal[]
  readonly ruleCount: number
}

/** What the objects of a cluster come to: Models, and what is to be said of each object. Pure. */
export function translate(snapshot: Snapshot, options: TranslateOptions): Translation {
  const { controllerName, settings, discoverySelectors = [], gatewayNamespaces } = options
  const diagnostics = new Set<Diagnostic>()
  const report = (diagnostic: Diagnostic) => void diagnostics.add(diagnostic)
  const view = new ClusterView(snapshot, discoverySelectors, report, options.assumesMissing)
  const policies = new Policies(view)
  const endpoints = new Endpoints(view)
  const tls = new BackendTlsPolicies(view)
  const drafts = draftGateways({
    view,
    policies,
    endpoints,
    tls,
    settings,
    controllerName,
    ...(gatewayNamespaces === undefined ? {} : { gatewayNamespaces }),
  })
  const parts = new Map(drafts.map((draft) => [draft, new ModelParts(draft, policies)]))
  const outcomes = readRoutes({ view, policies, endpoints, tls, drafts, parts, report })
  const models = new Map<string, Model>()
  for (const [draft, part] of parts) {
    if (!draft.accepted.ok) continue
    const model = part.finish()
    models.set(draft.read.key, model)
    for (const diagnostic of checkModel(model)) {
      report(diagnostic)
      blame(policies, draft.read.key, diagnostic)
    }
  }
  for (const { diagnostics: own, reached } of policies.records) {
    for (const one of own) report(one)
    for (const at of reached.values()) for (const one of at.diagnostics) report(one)
  }
  const statuses = statusesOf({ view, drafts, outcomes, policies, tls, models, controllerName })
  for (const { diagnostics: own } of statuses) for (const one of own) report(one)
  return {
    models,
    statuses: statuses.map(({ status }) => status),
    diagnostics: [...diagnostics],
  }
}

/** What policies say where nothing would enforce it. */
function* checkModel(model: Model): Generator<Diagnostic> {
  yield* unenforcedOnStreams(model)
  yield* checkDynamicPolicies(model)
  yield* withoutEffectOnProviders(model)
  yield* checkMcpOnlyPolicies(model)
  yield* checkAiOnlyPolicies(model)
}

/** A message about the Model reaches the policy that it is about. */
function blame(policies: Policies, gateway: string, diagnostic: Diagnostic): void {
  const { origin } = diagnostic
  if (origin.kind !== 'object') return
  const record = policies.records.find(({ read }) => `ProxyPolicy ${read.key}` === origin.object)
  record?.reached.get(gateway)?.diagnostics.add(diagnostic)
}

interface RoutesContext {
  readonly view: ClusterView
  readonly policies: Policies
  readonly endpoints: Endpoints
  readonly tls: BackendTlsPolicies
  readonly drafts: readonly GatewayDraft[]
  readonly parts: ReadonlyMap<GatewayDraft, ModelParts>
  readonly report: (diagnostic: Diagnostic) => void
}

function readRoutes(context: RoutesContext): readonly RouteOutcome[] {
  const { view, drafts } = context
  const gateways = new Map(drafts.map((draft) => [draft.read.key, draft]))
  const sets = new Map(
    drafts.flatMap((draft) => draft.sets.map((set) => [set.read.key, draft] as const)),
  )
  const requests = [
    ...view.all('HTTPRoute', httpRoute).map((read) => ({ read, kind: 'http' as const })),
    ...view.all('GRPCRoute', grpcRoute).map((read) => ({ read, kind: 'grpc' as const })),
  ].sort((a, b) => byAge(a.read.object, b.read.object))
  const streams = ['TLSRoute', 'TCPRoute']
    .flatMap((kind) => view.all(kind, streamRoute))
    .map((read) => ({ read, kind: 'stream' as const }))
    .sort((a, b) => byAge(a.read.object, b.read.object))
  return [...requests, ...streams].flatMap((route): readonly RouteOutcome[] => {
    const { read } = route
    const { parentRefs, hostnames } = read.value.spec
    const attachments = attachmentsOf(view, gateways, sets, read, parentRefs, hostnames)
    if (attachments.length === 0) return []
    const byGateway = Map.groupBy(attachments, ({ gateway }) => gateway)
    let outcome: Omit<RouteOutcome, 'attachments'> | undefined
    for (const [draft, own] of byGateway) {
      const listeners = [...new Set(own.flatMap((one) => one.listeners))]
      for (const { name } of listeners) {
        const known = draft.attached.get(name) ?? new Set()
        draft.attached.set(name, known.add(`${read.kind} ${read.key}`))
      }
      const served = listeners.filter(({ accepted }) => accepted.ok)
      const made = readRoute(context, draft, route, served)
      outcome ??= made
    }
    return outcome === undefined ? [] : [{ ...outcome, attachments }]
  })
}

type AnyRoute =
  | { readonly kind: 'http'; readonly read: Parameters<typeof readHttpRoute>[1] }
  | { readonly kind: 'grpc'; readonly read: Parameters<typeof readGrpcRoute>[1] }
  | { readonly kind: 'stream'; readonly read: Parameters<typeof readStreamRoute>[1] }

/** Into the parts of the Gateway where it is attached; else only for what there is to say. */
function readRoute(
  { view, policies, endpoints, tls, parts, report }: RoutesContext,
  draft: GatewayDraft,
  route: AnyRoute,
  listeners: readonly PlacedListener[],
): Omit<RouteOutcome, 'attachments'> {
  const isServed = listeners.length > 0
  const gateway = draft.read.key
  const scratch = { view, endpoints, tls, client: undefined, gateway: '', attached: () => [] }
  const backends = isServed ? draft.backends : new Backends(scratch)
  const part = parts.get(draft)
  const targetKind = route.read.kind as 'HTTPRoute' | 'GRPCRoute' | 'TLSRoute' | 'TCPRoute'
  const attached = (rule: string | undefined): readonly Attached[] => {
    if (!isServed) return []
    const section = rule === undefined ? {} : { section: rule }
    return policies.at(targetKind, route.read.key, section, 'route', gateway, (from, ref, origin) =>
      backends.resolve(from, ref, origin),
    )
  }
  if (route.kind === 'stream') {
    const made = readStreamRoute({ backends, attached: attached(undefined) }, route.read)
    if (isServed) part?.addStream(made.route, listeners)
    return { read: route.read, resolved: made.resolved, problems: [], ruleCount: 1 }
  }
  const context = { backends, attached }
  const made = remembered(
    route.read.object,
    `${gateway} ${isServed}`,
    sourcesOf(route, backends, attached),
    () =>
      route.kind === 'http'
        ? readHttpRoute(context, route.read)
        : readGrpcRoute(context, route.read),
  )
  for (const diagnostic of made.diagnostics) report(diagnostic)
  if (isServed) part?.addRoute(made.route, listeners)
  const { resolved, problems, ruleCount } = made
  return { read: route.read, resolved, problems, ruleCount }
}

/** All that a route is made of beside itself; looking at it makes the backends known. */
function sourcesOf(
  { read }: Exclude<AnyRoute, { readonly kind: 'stream' }>,
  backends: Backends,
  attached: (rule: string | undefined) => readonly Attached[],
): readonly unknown[] {
  const from = { group: GATEWAY_API, kind: read.kind, namespace: read.namespace }
  const sources: unknown[] = [...attached(undefined)]
  for (const [index, { name, backendRefs, filters }] of read.value.spec.rules.entries()) {
    if (name !== undefined) sources.push(name, ...attached(name))
    const field = `spec.rules[${index}]`
    const refs = backendRefs.map((ref, at) => [ref, `${field}.backendRefs[${at}]`] as const)
    const mirrors = filters.flatMap(({ requestMirror }, at) =>
      requestMirror === undefined
        ? []
        : [[requestMirror.backendRef, `${field}.filters[${at}].requestMirror.backendRef`] as const],
    )
    for (const [ref, at] of [...refs, ...mirrors]) {
      const { backend, verdict } = backends.resolve(from, ref, originOf(read, at))
      sources.push(backend, verdict.ok ? '' : `${verdict.reason} ${verdict.message}`)
    }
  }
  return sources
}

/** The parts of one Gateway's Model while they come in. */
class ModelParts {
  readonly #draft: GatewayDraft
  readonly #policies: Policies
  readonly #byPort: boolean
  readonly #routes: Route[] = []
  readonly #streams: TcpRoute[] = []

  constructor(draft: GatewayDraft, policies: Policies) {
    this.#draft = draft
    this.#policies = policies
    this.#byPort = policies.hasPorts(draft.read.key)
  }

  addRoute(route: Omit<Route, 'parents'>, listeners: readonly PlacedListener[]): void {
    const parents = listeners.map((one) => this.#parent(one))
    const sources = parents.flatMap(({ gateway, listener }) => [gateway, listener])
    const id = `parents ${this.#draft.read.key}`
    this.#routes.push(remembered(route, id, sources, () => ({ ...route, parents })))
  }

  addStream(route: Omit<TcpRoute, 'parents'>, listeners: readonly PlacedListener[]): void {
    this.#streams.push({ ...route, parents: listeners.map((one) => this.#parent(one)) })
  }

  finish(): Model {
    const gateways = this.#gateways()
    return freeze({
      gateways,
      routes: this.#routes,
      tcpRoutes: this.#streams,
      // Policies of gateways name backends, too.
      backends: this.#draft.backends.all(),
      frontend: [],
    })
  }

  #parent({ name, spec }: PlacedListener): Parent {
    return { gateway: this.#gatewayOf(spec.port), listener: name }
  }

  /** Where a policy is for one port, each port is a gateway of its own in the Model. */
  #gatewayOf(port: number): string {
    const { key } = this.#draft.read
    return this.#byPort ? `${key}/${port}` : key
  }

  #gateways(): readonly Gateway[] {
    const { read, listeners } = this.#draft
    const origin = originOf(read, 'spec')
    const made = listeners.flatMap((placed) => {
      const listener = toListener(placed)
      return listener === undefined ? [] : [this.#guarded(placed, listener)]
    })
    const byGateway = Map.groupBy(made, ({ port = 0 }) => this.#gatewayOf(port))
    const general = this.#at({}, 'gateway')
    if (byGateway.size === 0) return [{ name: read.key, origin, listeners: [], policies: general }]
    return [...byGateway].map(([name, own]) => {
      const port = own[0]?.port
      const special = this.#byPort && port !== undefined ? this.#at({ port }, 'gateway') : []
      return { name, origin, listeners: own, policies: [...special, ...general] }
    })
  }

  /** With the policies for the listener, and for the whole of the ListenerSet that it is of. */
  #guarded({ owner, spec }: PlacedListener, listener: Listener): Listener {
    const { name } = spec
    const policies =
      owner.kind === 'Gateway'
        ? this.#at({ section: name }, 'listener')
        : [...this.#ofSet(owner.key, { section: name }), ...this.#ofSet(owner.key, {})]
    return policies.length === 0 ? listener : { ...listener, policies }
  }

  #at(part: { readonly section?: string; readonly port?: number }, level: 'gateway' | 'listener') {
    const { key } = this.#draft.read
    return this.#policies.at('Gateway', key, part, level, key, this.#resolve)
  }

  #ofSet(set: string, part: { readonly section?: string }) {
    const { key } = this.#draft.read
    return this.#policies.at('ListenerSet', set, part, 'listener', key, this.#resolve)
  }

  readonly #resolve: Backends['resolve'] = (from, ref, origin) =>
    this.#draft.backends.resolve(from, ref, origin)
}
