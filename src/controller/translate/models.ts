import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { nearestName } from '../../diagnostics/nearest.ts'
import { hasErrors } from '../../diagnostics/result.ts'
import type {
  AiBackend,
  AiModel,
  AiProvider,
  VirtualModel,
  VirtualTarget,
} from '../../model/backend.ts'
import { matchingModels } from '../../model/model-names.ts'
import type { Match, Parent, Route } from '../../model/route.ts'
import { checkExpression } from '../../policies/schema.ts'
import { MODEL_PATHS } from '../../protocols/llm/schema.ts'
import { type ProxyModelObject, proxyModel } from '../resources/proxy.ts'
import { firstRejection, OK, reject, type Verdict } from './conditions.ts'
import { type Effects, noEffects } from './effects.ts'
import { modelProvider, rejectedProvider } from './model-provider.ts'
import { attachmentsOf, type GatewayForRoutes, type ListenerForRoutes } from './parents.ts'
import { type ClusterView, complaint, originOf, type Read, verdictOn } from './view.ts'

/** The ProxyModels of one Gateway, as in its Model. */
export interface GatewayModels {
  readonly routes: readonly Route[]
  readonly backends: readonly AiBackend[]
  readonly effects: Effects
  /** `namespace/name` of a ProxyModel and the index of its parentRef → its verdict. */
  readonly verdicts: ReadonlyMap<string, Verdict>
  readonly diagnostics: readonly Diagnostic[]
}

export interface ModelsDeps {
  readonly view: ClusterView
  readonly gatewayOf: (kind: string, key: string) => GatewayForRoutes | undefined
  readonly parentOf: (gateway: GatewayForRoutes, listener: ListenerForRoutes) => Parent
}

export function verdictKey(model: string, index: number): string {
  return `${model} ${index}`
}

/** Stays the same object until a ProxyModel, or anything that one refers to, changes. */
export function modelsOf(deps: ModelsDeps, gateway: string): GatewayModels {
  return deps.view.cells.shared(`models of ${gateway}`, () => read(deps, gateway), Object.is)
}

interface Offered {
  readonly read: Read<ProxyModelObject>
  /** The parentRefs that attach it here. */
  readonly indexes: readonly number[]
}

function read(deps: ModelsDeps, key: string): GatewayModels {
  const { view, gatewayOf, parentOf } = deps
  const verdicts = new Map<string, Verdict>()
  const groups = new Map<string, { listeners: Set<ListenerForRoutes>; offered: Offered[] }>()
  for (const model of view.all('ProxyModel', proxyModel)) {
    // Models can be offered on every listener that accepts HTTPRoutes.
    const asRoute = { ...model, kind: 'HTTPRoute' }
    const { parentRefs } = model.value.spec
    const own = parentRefs.flatMap((ref, index) =>
      attachmentsOf(view, gatewayOf, asRoute, [ref], [])
        .filter(({ gateway }) => gateway === key)
        .map((attachment) => ({ ...attachment, index })),
    )
    const listeners = new Set<ListenerForRoutes>()
    for (const { verdict, index, listeners: reached } of own) {
      verdicts.set(verdictKey(model.key, index), verdict)
      for (const one of reached) if (one.isServed) listeners.add(one)
    }
    if (listeners.size === 0) continue
    const place = [...listeners].map(({ name }) => name).sort()
    const id = place.join(',')
    const group = groups.get(id) ?? { listeners, offered: [] }
    group.offered.push({ read: model, indexes: own.map(({ index }) => index) })
    groups.set(id, group)
  }
  const effects = noEffects()
  const diagnostics: Diagnostic[] = []
  const gateway = gatewayOf('Gateway', key)
  const made = [...groups].map(([id, { listeners, offered }]) => {
    const name = groups.size === 1 ? `models/${key}` : `models/${key}/${id}`
    const backend = backendOf({ view, effects, verdicts, diagnostics }, name, offered)
    const parents = [...listeners].flatMap((one) => (gateway ? [parentOf(gateway, one)] : []))
    return { backend, route: routeOf(backend, parents) }
  })
  return {
    routes: made.map(({ route }) => route),
    backends: made.map(({ backend }) => backend),
    effects,
    verdicts,
    diagnostics,
  }
}

function routeOf({ name, origin }: AiBackend, parents: readonly Parent[]): Route {
  const below = (value: string): Match => ({
    path: { kind: 'prefix', value },
    headers: [],
    query: [],
  })
  const rule = {
    ...{ name, origin, policies: [] },
    matches: MODEL_PATHS.map(below),
    action: { kind: 'forward', backends: [{ backend: name, weight: 1, policies: [] }] },
  } as const
  return { name, origin, parents, hostnames: [], policies: [], rules: [rule] }
}

interface Making {
  readonly view: ClusterView
  readonly effects: Effects
  readonly verdicts: Map<string, Verdict>
  readonly diagnostics: Diagnostic[]
}

/** An invalid model rejects the requests for it; the others are served. */
function backendOf(making: Making, backend: string, offered: readonly Offered[]): AiBackend {
  const providers: AiProvider[] = []
  const models: AiModel[] = []
  const virtual: { readonly one: Offered; readonly name: string }[] = []
  const names = new Map<string, string>()
  const say = ({ read, indexes }: Offered, problems: readonly Diagnostic[], verdict: Verdict) => {
    making.diagnostics.push(...problems)
    for (const index of indexes) {
      const id = verdictKey(read.key, index)
      making.verdicts.set(id, firstRejection([making.verdicts.get(id) ?? OK, verdict]))
    }
  }
  for (const one of offered) {
    const { read } = one
    const { spec } = read.value
    const name = spec.match.model ?? read.name
    const rival = names.get(name)
    if (rival !== undefined) {
      const message = `ProxyModel ${rival} is older and already offers \`${name}\``
      const said = complaint(read, 'spec.match.model', 'PC0708', message)
      say(one, [said], reject('Conflicted', message))
      continue
    }
    names.set(name, read.key)
    if (read.problems.length > 0) {
      const problems = read.problems.map(({ diagnostic }) => diagnostic)
      const provider = rejectedProvider(read, backend, problems)
      providers.push(provider)
      models.push({ name, provider: provider.name, isInternal: spec.visibility === 'Internal' })
      say(one, [], verdictOn(read.problems, 'Invalid'))
      continue
    }
    if (spec.virtualModel !== undefined) {
      virtual.push({ one, name })
      continue
    }
    const { provider, problems } = modelProvider(making, read, backend)
    providers.push(provider)
    models.push({ name, provider: provider.name, isInternal: spec.visibility === 'Internal' })
    say(one, problems, verdictOf(problems))
  }
  const virtualModels: VirtualModel[] = []
  for (const { one, name } of virtual) {
    const { model, problems } = toVirtual(one.read, name, models)
    if (hasErrors(problems)) {
      const provider = rejectedProvider(one.read, backend, problems)
      providers.push(provider)
      models.push({ name, provider: provider.name, isInternal: false })
    } else virtualModels.push(model)
    say(one, problems, verdictOf(problems))
  }
  const [first] = offered
  const origin = originOf(first?.read ?? { kind: 'ProxyModel', key: backend }, 'spec')
  const groups = [{ providers }]
  return { kind: 'ai', name: backend, origin, policies: [], groups, models, virtualModels }
}

function verdictOf(problems: readonly Diagnostic[]): Verdict {
  const errors = problems.filter(({ severity }) => severity === 'error')
  if (errors.length === 0) return OK
  return reject('Invalid', errors.map(({ message }) => message).join('; '))
}

const ROUTINGS = ['weighted', 'failover', 'conditional'] as const

function toVirtual(
  read: Read<ProxyModelObject>,
  name: string,
  models: readonly AiModel[],
): { readonly model: VirtualModel; readonly problems: readonly Diagnostic[] } {
  const written = read.value.spec.virtualModel ?? {}
  const problems: Diagnostic[] = []
  const [routing, ...others] = ROUTINGS.filter((one) => written[one] !== undefined)
  const field = 'spec.virtualModel'
  if (routing === undefined || others.length > 0) {
    const message = `set exactly one of ${ROUTINGS.map((one) => `\`${one}\``).join(', ')}`
    problems.push(complaint(read, field, 'PC0704', message))
  }
  const kind = routing ?? 'weighted'
  const targets = (written[kind]?.targets ?? []).flatMap((target, index): VirtualTarget[] => {
    const { model, ...rest } = target
    const at = `${field}.${kind}.targets[${index}]`
    if (rest.when !== undefined) {
      const origin = originOf(read, `${at}.when`)
      problems.push(...checkExpression(rest.when, 'llm', 'rule', () => origin))
    }
    const [found] = matchingModels(models, model)
    if (found !== undefined) return [{ provider: found.provider, model, ...defined(rest) }]
    const known = models.map((one) => one.name)
    const meant = nearestName(model, known)
    const hint = meant === undefined ? undefined : `did you mean \`${meant}\`?`
    problems.push(complaint(read, `${at}.model`, 'PC0702', `unknown model \`${model}\``, hint))
    return []
  })
  return { model: { name, origin: originOf(read, field), routing: kind, targets }, problems }
}

function defined(value: object): Omit<VirtualTarget, 'provider' | 'model'> {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined))
}
