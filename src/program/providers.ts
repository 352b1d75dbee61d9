import type { JsonObject } from '../cel/values/value.ts'
import { ProviderPauses } from '../exchange/provider-pauses.ts'
import type { AiBackend, AiProvider } from '../model/backend.ts'
import type { Attached, ValidPolicy } from '../model/policy.ts'
import {
  compileModelVisibility,
  type ModelVisibility,
} from '../policies/authorization/visibility.ts'
import type { BackendAuth } from '../policies/backend-auth/schema.ts'
import type { Http } from '../policies/http/schema.ts'
import type { LoadBalancer } from '../policies/load-balancer/schema.ts'
import type { OutlierDetection } from '../policies/outlier-detection/schema.ts'
import { attemptTime } from '../policies/timeout/compile.ts'
import { accessOf } from '../protocols/llm/provider.ts'
import { effectiveAt } from '../reach/effective.ts'
import { recordOf } from '../reach/kinds.ts'
import type { Layer } from '../reach/layers.ts'
import { holdsForRequests, rulesAt } from '../reach/points.ts'
import { type Balancer, balancer } from '../upstream/balance.ts'
import { DEFAULT_EVICTION } from '../upstream/cluster-plan.ts'
import { aiUpstream } from './ai-upstream.ts'
import { clusterPolicies } from './backend-policies.ts'
import { unhealthyExpressionOf } from './clusters.ts'
import type { Compilation } from './compilation.ts'
import { compileFields } from './computed-fields.ts'
import { changedOptions, changesCalls } from './model-changes.ts'
import { modelErrorFormat } from './model-errors.ts'
import { ModelRouter } from './model-router.ts'
import type { BackendProgram, ProviderProgram } from './program.ts'
import { ProviderMember } from './provider-selection.ts'
import { requestSigner } from './request-signer.ts'
import { sealKeyOf } from './seal-key.ts'

/**
 * A backend with several providers. Services of policies around it are called once, before a
 * provider is chosen; its rules form one set with those of the provider, and decide about each.
 */
export function compileProviders(
  compilation: Compilation,
  backend: AiBackend,
  around: readonly Layer[],
): BackendProgram | undefined {
  const { sections, services } = compilation
  const { name } = backend
  const once = sections.compile(
    around,
    'backend',
    (one) => holdsForRequests(one, backend) && isCalledOnce(one),
  )
  const groups: ProviderMember[][] = []
  for (const { providers } of backend.groups) {
    const members = providers.map((one) => compileProvider(compilation, backend, one, around))
    if (!members.every((one) => one !== undefined)) return undefined
    groups.push(members)
  }
  const programs = groups.flat().map(({ program }) => program)
  const balancers = groups.map((members) =>
    groupBalancer(compilation, members, around, services.random),
  )
  const [first] = backend.groups.flatMap(({ providers }) => providers)
  const usual = first && accessOf(first.provider).dialects(first.options)[0]
  const random = services.random
  const router = backend.models && new ModelRouter(backend, groups.flat(), random)
  const plan = { groups, balancers, failsOver: true }
  return {
    name,
    errorFormat: modelErrorFormat(usual ?? 'completions'),
    steps: once.steps,
    run: once.run,
    kinds: once.kinds,
    readsBody: once.readsBody || programs.some(({ readsBody }) => readsBody),
    readsBeginning: once.readsBeginning || programs.some((one) => one.readsBeginning === true),
    decodesBody: once.decodesBody || programs.some((one) => one.decodesBody === true),
    requestTimeout: 0,
    responseIdle: 0,
    decider: undefined,
    upstream: aiUpstream(backend, programs, plan, router, { sealKey: sealKeyOf(services), random }),
  }
}

/**
 * A service is called once for a request, not for each provider; an invalid policy denies for all.
 */
function isCalledOnce({ kind, state, level }: Attached): boolean {
  return level !== 'provider' && (state === 'invalid' || recordOf(kind)?.callsService === true)
}

function compileProvider(
  compilation: Compilation,
  backend: AiBackend,
  provider: AiProvider,
  around: readonly Layer[],
): ProviderMember | undefined {
  const { reach, sections, clusters, contexts } = compilation
  const { origin } = provider
  const name = `${backend.name}/${provider.name}`
  const own = reach.within(around, { backend, provider })
  const { byKind } = effectiveAt(own, 'backend')
  const policies = [...byKind.values()].flat()
  const endpoint = { ...provider.endpoint, scheme: schemeOf(provider, policies) }
  const address = { kind: 'host', name, origin, policies: [], endpoints: [endpoint] } as const
  const cluster = clusters.open(address, clusterPolicies(policies).map(forOneEndpoint))
  if (cluster === undefined) return undefined
  const section = sections.compile(
    own,
    'backend',
    (one) => holdsForRequests(one, backend) && !isCalledOnce(one),
  )
  const computed = compileFields(byKind.get('ai') ?? [], () =>
    contexts.open(contexts.scopesAt(own, 'backend')),
  )
  if (computed === undefined) return undefined
  const http = byKind.get('http')?.[0].value as Http | undefined
  const auth = byKind.get('backendAuth')?.[0].value as BackendAuth | undefined
  const access = accessOf(provider.provider)
  const program: ProviderProgram = {
    name: backend.name,
    provider: provider.name,
    upstream: { kind: 'cluster', cluster },
    steps: section.steps,
    run: section.run,
    kinds: section.kinds,
    readsBody: section.readsBody,
    readsBeginning: section.readsBeginning,
    decodesBody: section.decodesBody,
    requestTimeout: attemptTime(http?.requestTimeout),
    responseIdle: attemptTime(http?.responseIdleTimeout),
    judgesResponses: unhealthyExpressionOf(policies) !== undefined,
    decider: section.decider,
    responseParts: section.responseParts,
    requestBodies: section.requestBodies,
    attributes: attributesOf(backend.name, provider.name),
    host: endpoint.host,
    address: `${endpoint.host}:${endpoint.port}`,
    llm: { provider: provider.name },
    target: {
      name: `${backend.name}/${provider.name}`,
      access,
      options: changedOptions(provider.options, byKind.get('ai') ?? []),
      catalogNames: catalogNames(provider),
      prices: compilation.services.prices,
      computed,
    },
    keepsCredentials: auth?.kind === 'passthrough',
    keyHeader:
      hasUsualPlace(auth) && access.credential.name !== 'authorization'
        ? access.credential
        : undefined,
    signer: requestSigner(
      auth,
      provider,
      endpoint,
      compilation.services.policyDeps?.date ?? Date.now,
    ),
    readsModel:
      section.readsModel ||
      changesCalls(byKind.get('ai') ?? []) ||
      section.kinds.includes('guardrails'),
    mayAllow: mayAllow(compilation, own),
    attachGuards: section.steps[section.kinds.indexOf('guardrails')],
  }
  return new ProviderMember(program, compilation.services.pauses ?? OWN_PAUSES)
}

const OWN_PAUSES = new ProviderPauses()

/** Used for the list of models. */
function mayAllow({ contexts }: Compilation, layers: readonly Layer[]): ModelVisibility {
  const { byKind, invalid } = effectiveAt(layers, 'backend')
  if (invalid.length > 0) return () => false
  const policies = rulesAt(byKind, 'backend')
  if (policies === undefined) return () => true
  return compileModelVisibility(policies, contexts.open(contexts.scopesAt(layers, 'backend')))
}

/** The names that a model catalog may use for the provider. */
function catalogNames({ provider, options }: AiProvider): readonly string[] {
  const own = accessOf(provider).telemetryName(options)
  const { providerOverride } = options
  const preset = typeof providerOverride === 'string' ? [providerOverride] : []
  return [...new Set([own, ...preset, provider, provider.toLowerCase()])]
}

/** The key has the default location. */
function hasUsualPlace(auth: BackendAuth | undefined): boolean {
  if (auth?.kind !== 'key' || auth.location.kind !== 'header') return false
  return auth.location.name === 'authorization' && auth.location.prefix === 'Bearer '
}

/** Always set, so that requests carry the provider's own host, however its address is written. */
function schemeOf({ endpoint }: AiProvider, policies: readonly ValidPolicy[]): 'http' | 'https' {
  const isSecured = policies.some(({ kind }) => kind === 'backendTLS')
  return isSecured ? 'https' : (endpoint.scheme ?? 'http')
}

/**
 * The only endpoint may be evicted: others serve then, or if there are none, it is called anyway.
 */
function forOneEndpoint(policy: ValidPolicy): ValidPolicy {
  if (policy.kind !== 'outlierDetection') return policy
  const value = policy.value as OutlierDetection
  const eviction = { ...(value.eviction ?? DEFAULT_EVICTION), maxEvicted: 1 }
  return { ...policy, value: { ...value, eviction } }
}

/** `backend` in expressions, once a provider is chosen. */
function attributesOf(name: string, provider: string): JsonObject {
  return { name, type: 'ai', protocol: 'llm', provider }
}

function groupBalancer(
  { clusters }: Compilation,
  members: readonly ProviderMember[],
  around: readonly Layer[],
  random: () => number,
): Balancer<ProviderMember> {
  const policies = effectiveAt(around, 'backend').byKind.get('loadBalancer') ?? []
  const { algorithm = 'LeastRequest' } = (policies[0]?.value ?? {}) as Partial<LoadBalancer>
  return balancer(algorithm, members, { hashKey: clusters.hashKey(policies), random })
}
