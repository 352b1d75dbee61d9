import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Backend } from '../../model/backend.ts'
import type { Attached } from '../../model/policy.ts'
import { type ServiceObject, service } from '../resources/cluster-objects.ts'
import { xBackend } from '../resources/external.ts'
import { inferencePool } from '../resources/inference.ts'
import { type ServiceEntryObject, serviceEntry } from '../resources/mesh.ts'
import { PORTCULLIS } from '../resources/metadata.ts'
import { type ProxyBackendObject, proxyBackend } from '../resources/proxy.ts'
import type { ObjectBackendRef } from '../resources/routes.ts'
import type { BackendTlsPolicies } from './backend-tls.ts'
import type { Effects } from './effects.ts'
import { ofXBackend } from './external-backends.ts'
import { ofInferencePool, ofPicker } from './inference-pools.ts'
import { readPolicySection } from './policy-section.ts'
import { toProxyBackend } from './proxy-backend.ts'
import { backendName, type Recipe, resolver } from './references.ts'
import { type EntryPort, entryEndpoints, isHttp2Entry } from './service-entries.ts'
import { cleartextHttp2, endpointsOf, isCleartextHttp2, type ServicePort } from './services.ts'
import type { ClientMaterial } from './tls-value.ts'
import { type ClusterView, complaint, originOf, type Read } from './view.ts'

export interface BackendDeps {
  readonly view: ClusterView
  readonly tls: BackendTlsPolicies
  /** Policies for a Service, ProxyBackend or InferencePool, or a part of it. */
  readonly attached: (
    kind: 'Service' | 'ProxyBackend' | 'InferencePool',
    key: string,
    section: string | undefined,
  ) => readonly Attached[]
  readonly client: ClientMaterial | undefined
  readonly effects: Effects
}

/** Makes the backend of a reference in the Model of one Gateway. */
export function makeBackend(deps: BackendDeps, recipe: Recipe): Backend {
  if (recipe.kind === 'made') return recipe.backend
  const { view } = deps
  const { namespace, name } = recipe
  if (recipe.kind === 'ProxyBackend') {
    const read = view.get('ProxyBackend', proxyBackend, namespace, name)
    return read === undefined ? gone(recipe) : ofProxyBackend(deps, read)
  }
  if (recipe.kind === 'XBackend') {
    const read = view.get('XBackend', xBackend, namespace, name)
    return read === undefined ? gone(recipe) : ofXBackend(view, read, backendName(recipe))
  }
  if (recipe.kind === 'InferencePool' || recipe.kind === 'EndpointPicker') {
    return ofPool(deps, recipe)
  }
  if (recipe.kind === 'ServiceEntry') {
    const read = view.get('ServiceEntry', serviceEntry, namespace, name)
    const port = read?.value.spec.ports.find((one) => one.number === recipe.port)
    return read === undefined || port === undefined ? gone(recipe) : ofEntry(deps, read, port)
  }
  if (recipe.isAssumed) return assumed(deps, recipe)
  const read = view.get('Service', service, namespace, name)
  if (read === undefined) return gone(recipe)
  const port = read.value.spec.ports.find((one) => one.port === recipe.port)
  return ofService(deps, read, port ?? { port: recipe.port, protocol: 'TCP' })
}

/** It existed when the reference was resolved. */
function gone(recipe: Exclude<Recipe, { readonly kind: 'made' }>): Backend {
  const { kind, namespace, name } = recipe
  const about = { kind, key: `${namespace}/${name}` }
  const diagnostics = [complaint(about, '', 'PC0702', `${kind} ${about.key} not found`)]
  const origin = originOf(about, '')
  return { kind: 'invalid', name: backendName(recipe), origin, policies: [], diagnostics }
}

function ofService(
  { view, tls, attached, client, effects }: BackendDeps,
  read: Read<ServiceObject>,
  port: ServicePort,
): Backend {
  const name = `Service/${read.key}/${port.port}`
  const origin = originOf(read, 'spec')
  const ofPort = tls.at(read, port, client, effects)
  const policies = [
    // The port itself is more specific than the Service.
    ...attached('Service', read.key, String(port.port)),
    ...attached('Service', read.key, undefined),
    ...(ofPort === undefined ? [] : [ofPort]),
    ...(isCleartextHttp2(port) ? [cleartextHttp2(name, origin)] : []),
  ]
  return { kind: 'host', name, origin, policies, endpoints: endpointsOf(view, read, port) }
}

/** The pods of a pool, or the endpoint picker that selects one of them. */
function ofPool(
  { view, tls, client, attached, effects }: BackendDeps,
  recipe: Extract<Recipe, { readonly kind: 'InferencePool' | 'EndpointPicker' }>,
): Backend {
  const { namespace, name } = recipe
  const own = backendName(recipe)
  const read = view.get('InferencePool', inferencePool, namespace, name)
  if (read === undefined) return gone(recipe)
  if (recipe.kind === 'EndpointPicker') return ofPicker(view, tls, read, own, client, effects)
  const picker: Recipe = { kind: 'EndpointPicker', namespace, name }
  effects.uses.set(backendName(picker), picker)
  const policies = attached('InferencePool', read.key, undefined)
  return ofInferencePool(view, read, { name: own, picker: backendName(picker), policies })
}

/** A ServiceEntry of the mesh: outside the cluster, or next to it. */
function ofEntry({ view }: BackendDeps, read: Read<ServiceEntryObject>, port: EntryPort): Backend {
  const name = `ServiceEntry/${read.key}/${port.number}`
  const origin = originOf(read, 'spec')
  const policies = isHttp2Entry(port) ? [cleartextHttp2(name, origin)] : []
  return { kind: 'host', name, origin, policies, endpoints: entryEndpoints(view, read, port) }
}

/** A Service assumed to be in the cluster, with the policies for it. */
function assumed(
  { attached }: BackendDeps,
  recipe: Extract<Recipe, { readonly kind: 'Service' }>,
): Backend {
  const { namespace, name, port } = recipe
  const key = `${namespace}/${name}`
  const endpoints = [{ host: `${name}.${namespace}.svc.cluster.local`, port }]
  return {
    kind: 'host',
    name: backendName(recipe),
    origin: originOf({ kind: 'Service', key }, 'spec'),
    policies: attached('Service', key, undefined),
    endpoints,
  }
}

function ofProxyBackend(deps: BackendDeps, read: Read<ProxyBackendObject>): Backend {
  const { attached, view, effects } = deps
  const from = { group: PORTCULLIS, kind: 'ProxyBackend', namespace: read.namespace }
  const resolveAny = resolver(view, effects)
  const resolve = (ref: ObjectBackendRef, field: string) =>
    resolveAny(from, ref, originOf(read, field))
  const section = (
    value: unknown,
    field: string,
    level: 'backend' | 'provider',
    policy: string,
  ) => {
    const place = { field, section: 'backend', level, policy } as const
    return readPolicySection({ view, read, resolve }, value, place).policies
  }
  return toProxyBackend(read, `ProxyBackend/${read.key}`, {
    section,
    resolve,
    attached: (part) => attached('ProxyBackend', read.key, part),
    configEntry: (name, key) => view.configEntries(read.namespace, name)?.get(key),
  })
}

/** Why a ProxyBackend cannot be served; empty if it can. */
export function problemsOf(
  read: Read<ProxyBackendObject>,
  backend: Backend,
): readonly Diagnostic[] {
  if (backend.kind === 'invalid') {
    return backend.diagnostics.length > 0
      ? backend.diagnostics
      : [complaint(read, 'spec', 'PC0704', 'it cannot be served')]
  }
  return []
}
