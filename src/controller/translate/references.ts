import type * as z from 'zod'
import type { Diagnostic, Origin } from '../../diagnostics/diagnostic.ts'
import type { Backend } from '../../model/backend.ts'
import { isSame } from '../../model/reconcile.ts'
import { service } from '../resources/cluster-objects.ts'
import { X_GATEWAY_API, xBackend } from '../resources/external.ts'
import { INFERENCE, inferencePool } from '../resources/inference.ts'
import { ISTIO, serviceEntry } from '../resources/mesh.ts'
import { PORTCULLIS } from '../resources/metadata.ts'
import { proxyBackend } from '../resources/proxy.ts'
import type { ObjectBackendRef } from '../resources/routes.ts'
import { OK, type Rejection, reject } from './conditions.ts'
import type { Effects } from './effects.ts'
import { verdictOfXBackend } from './external-backends.ts'
import type { ResolvedRef } from './resolved-ref.ts'
import { entryWithHost } from './service-entries.ts'
import type { ClusterView, Party } from './view.ts'

/** Describes how a backend of the Model is made. */
export type Recipe =
  | { readonly kind: 'ProxyBackend'; readonly namespace: string; readonly name: string }
  | {
      readonly kind: 'Service'
      readonly namespace: string
      readonly name: string
      readonly port: number
      /** Not among the manifests. */
      readonly isAssumed: boolean
    }
  | { readonly kind: 'XBackend'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'InferencePool'; readonly namespace: string; readonly name: string }
  /** The endpoint picker of the pool with this name. */
  | { readonly kind: 'EndpointPicker'; readonly namespace: string; readonly name: string }
  | {
      readonly kind: 'ServiceEntry'
      readonly namespace: string
      readonly name: string
      readonly port: number
    }
  /** The reference is invalid, or its backend was made together with the referrer. */
  | { readonly kind: 'made'; readonly backend: Backend }

/** The name of the backend that a recipe makes. */
export function backendName(recipe: Recipe): string {
  if (recipe.kind === 'made') return recipe.backend.name
  const { kind, namespace, name } = recipe
  const whole = `${kind}/${namespace}/${name}`
  return 'port' in recipe ? `${whole}/${recipe.port}` : whole
}

export type Resolve = (from: Party, ref: ObjectBackendRef, origin: Origin) => ResolvedRef

/** An invalid reference becomes a backend that responds to its share with 500. */
export function resolver(view: ClusterView, effects?: Effects): Resolve {
  return (from, ref, origin) => {
    const found = targetOf(view, from, ref)
    const recipe = 'ok' in found ? invalid(found, origin) : found
    const backend = backendName(recipe)
    effects?.uses.set(backend, recipe)
    const isPermitted = !('ok' in found) || found.reason !== 'RefNotPermitted'
    if (isPermitted && STATED.has(ref.kind)) {
      effects?.backends.add(`${ref.kind} ${ref.namespace ?? from.namespace}/${ref.name}`)
    }
    return { backend, verdict: 'ok' in found ? found : OK }
  }
}

/** Kinds of backends whose status lists the Gateways that lead to them. */
const STATED: ReadonlySet<string> = new Set(['XBackend', 'InferencePool'])

function invalid({ reason, message }: Rejection, origin: Origin): Recipe {
  const id = `invalid/${origin.kind === 'object' ? `${origin.object}/${origin.field}` : ''}`
  const code = reason === 'RefNotPermitted' ? 'PC0703' : 'PC0702'
  const said: Diagnostic = { code, severity: 'error', message, origin }
  const backend = { name: id, origin, policies: [], kind: 'invalid', diagnostics: [said] } as const
  return { kind: 'made', backend }
}

/**
 * Shared by references from the same kind and namespace: checks that the target and its port exist.
 */
function targetOf(view: ClusterView, from: Party, ref: ObjectBackendRef): Recipe | Rejection {
  const { group, kind, name, port = '' } = ref
  const { namespace = from.namespace } = ref
  const parties = `${from.group}/${from.kind}/${from.namespace} ${group}/${kind}/${namespace}`
  const id = `reference ${parties}/${name}:${port}`
  return view.cells.shared(id, () => find(view, from, { ...ref, namespace }), isSame)
}

function find(
  view: ClusterView,
  from: Party,
  ref: ObjectBackendRef & { readonly namespace: string },
): Recipe | Rejection {
  const { group, kind, namespace, name, port } = ref
  const isService = group === '' && kind === 'Service'
  const isEntry = group === ISTIO && (kind === 'ServiceEntry' || kind === 'Hostname')
  const isExternal = group === X_GATEWAY_API && kind === 'XBackend'
  const isPool = group === INFERENCE && kind === 'InferencePool'
  const isBackend = group === PORTCULLIS && kind === 'ProxyBackend'
  if (!isService && !isEntry && !isExternal && !isPool && !isBackend) {
    return reject('InvalidKind', `a backend cannot reference a ${kind} of \`${group}\``)
  }
  const what = `${kind} ${namespace}/${name}`
  if (!view.isGranted(from, { group, kind, namespace, name })) {
    return reject(
      'RefNotPermitted',
      `no ReferenceGrant in ${namespace} allows the reference to ${what}`,
    )
  }
  if (isExternal) return findXBackend(view, ref)
  if (isPool) {
    const found = view.get('InferencePool', inferencePool, namespace, name)
    if (found === undefined) return absent(view, kind, inferencePool, ref)
    return { kind: 'InferencePool', namespace, name }
  }
  if (isEntry) return findEntry(view, ref, what)
  if (!isService) {
    const found = view.get('ProxyBackend', proxyBackend, namespace, name)
    if (found === undefined) return absent(view, kind, proxyBackend, ref)
    return { kind: 'ProxyBackend', namespace, name }
  }
  const found = view.get('Service', service, namespace, name)
  const isMissing = view.live('Service', `${namespace}/${name}`) === undefined
  if (isMissing && view.assumesMissing && port !== undefined) {
    view.assume(kind, `${namespace}/${name}`)
    return { kind: 'Service', namespace, name, port, isAssumed: true }
  }
  if (found === undefined) return absent(view, kind, service, ref)
  if (port === undefined) return reject('BackendNotFound', `${what} requires a port`)
  const isKnown = found.value.spec.ports.some((one) => one.port === port)
  if (!isKnown && found.value.spec.type !== 'ExternalName') {
    return reject('BackendNotFound', `${what} has no port ${port}`)
  }
  return { kind: 'Service', namespace, name, port, isAssumed: false }
}

type Placed = ObjectBackendRef & { readonly namespace: string }

/** Not found, or why it cannot be read. */
function absent(
  view: ClusterView,
  kind: string,
  schema: z.ZodType,
  { namespace, name }: Placed,
): Rejection {
  return reject('BackendNotFound', view.absence(kind, schema, namespace, name))
}

function findXBackend(view: ClusterView, ref: Placed): Recipe | Rejection {
  const { namespace, name, port } = ref
  const found = view.get('XBackend', xBackend, namespace, name)
  const what = `XBackend ${namespace}/${name}`
  if (found === undefined) return absent(view, 'XBackend', xBackend, ref)
  if (port !== undefined && port !== found.value.spec.port) {
    return reject('BackendNotFound', `${what} has no port ${port}`)
  }
  const verdict = verdictOfXBackend(view, found)
  return verdict.ok ? { kind: 'XBackend', namespace, name } : verdict
}

/** By its name, or by one of its hosts, as routes of a mesh refer to it. */
function findEntry(view: ClusterView, ref: Placed, what: string): Recipe | Rejection {
  const { kind, namespace, name, port } = ref
  const found =
    kind === 'Hostname'
      ? entryWithHost(view, namespace, name)
      : view.get('ServiceEntry', serviceEntry, namespace, name)
  if (found === undefined) {
    if (kind === 'ServiceEntry') return absent(view, kind, serviceEntry, ref)
    return reject('BackendNotFound', `no ServiceEntry in ${namespace} has the host ${name}`)
  }
  if (port === undefined) return reject('BackendNotFound', `${what} requires a port`)
  if (!found.value.spec.ports.some((one) => one.number === port)) {
    return reject('BackendNotFound', `${what} has no port ${port}`)
  }
  return { kind: 'ServiceEntry', namespace, name: found.name, port }
}
