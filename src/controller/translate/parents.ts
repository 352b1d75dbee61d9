import { nearestName } from '../../diagnostics/nearest.ts'
import { reachable } from '../../model/hostnames.ts'
import { gateway as gatewaySchema, type ListenerSpec, listenerSet } from '../resources/gateway.ts'
import { GATEWAY_API } from '../resources/metadata.ts'
import type { ParentRef } from '../resources/routes.ts'
import { OK, reject, type Verdict } from './conditions.ts'
import { isNamespaceAllowed, type PlacedListener } from './listeners.ts'
import type { ClusterView, Read } from './view.ts'

/** The result of one parentRef of a route. */
export interface Attachment {
  readonly ref: ParentRef
  /** `namespace/name` */
  readonly gateway: string
  readonly verdict: Verdict
  /** The listeners on which requests reach the route. */
  readonly listeners: readonly ListenerForRoutes[]
}

/** The properties of a listener that routes depend on. */
export interface ListenerForRoutes
  extends Pick<PlacedListener, 'name' | 'hostname' | 'supportedKinds'> {
  readonly owner: Pick<Read, 'kind' | 'key' | 'namespace'>
  readonly spec: Pick<ListenerSpec, 'name' | 'port' | 'allowedRoutes'>
  readonly isServed: boolean
}

/** The properties of a Gateway that routes depend on. */
export interface GatewayForRoutes {
  readonly key: string
  /** Each port is a separate gateway in the Model. */
  readonly isByPort: boolean
  readonly listeners: readonly ListenerForRoutes[]
}

/** All parentRefs of a route that the controller is responsible for. */
export function attachmentsOf(
  view: ClusterView,
  gatewayOf: (kind: string, key: string) => GatewayForRoutes | undefined,
  route: Read,
  refs: readonly ParentRef[],
  hostnames: readonly string[],
): readonly Attachment[] {
  return refs.flatMap((ref, index): readonly Attachment[] => {
    if (ref.group !== GATEWAY_API) return []
    const key = `${ref.namespace ?? route.namespace}/${ref.name}`
    const gateway = gatewayOf(ref.kind, key)
    if (gateway === undefined) {
      assumeParent(view, route, index, ref.kind, key)
      return []
    }
    const candidates = gateway.listeners.filter(
      ({ owner }) => owner.kind === ref.kind && owner.key === key,
    )
    const { verdict, listeners } = match(view, candidates, route, ref, hostnames)
    return [{ ref, gateway: gateway.key, verdict, listeners }]
  })
}

/** A route whose parent is not among the manifests is not checked, which the user should know. */
function assumeParent(
  view: ClusterView,
  { object: { kind: own }, key: route }: Read,
  index: number,
  kind: string,
  key: string,
): void {
  const schema =
    kind === 'Gateway' ? gatewaySchema : kind === 'ListenerSet' ? listenerSet : undefined
  if (schema === undefined || !view.assumesMissing || view.live(kind, key) !== undefined) return
  const others = view.all(kind, schema).map((other) => other.key)
  const meant = nearestName(key, others)
  const title = `${own} ${route}`
  view.assume(kind, key, {
    code: 'PC0711',
    // Manifests of routes alone are usual; among Gateways, a wrong name is likely.
    severity: others.length === 0 ? 'info' : 'warning',
    message: `${kind} ${key} is not in the manifests; ${title} is not checked for it`,
    origin: { kind: 'object', object: title, field: `spec.parentRefs[${index}]` },
    ...(meant === undefined ? {} : { hint: `did you mean \`${meant}\`?` }),
  })
}

/** In the order of the Gateway API: the section, the allowed routes, the hostnames. */
function match(
  view: ClusterView,
  candidates: readonly ListenerForRoutes[],
  route: Read,
  { sectionName, port }: ParentRef,
  hostnames: readonly string[],
): Pick<Attachment, 'verdict' | 'listeners'> {
  const none = (reason: string, message: string) => ({
    verdict: reject(reason, message),
    listeners: [],
  })
  const named = candidates.filter(
    ({ spec }) =>
      (sectionName === undefined || spec.name === sectionName) &&
      (port === undefined || spec.port === port),
  )
  if (named.length === 0) {
    const which = [
      ...(sectionName === undefined ? [] : [`the name \`${sectionName}\``]),
      ...(port === undefined ? [] : [`port ${port}`]),
    ]
    return none(
      'NoMatchingParent',
      `no listener of the parent has ${which.join(' and ') || 'a name'}`,
    )
  }
  const allowed = named.filter(({ owner, spec, supportedKinds }) => {
    const isKind = supportedKinds.some(({ kind }) => kind === route.kind)
    const { namespaces } = spec.allowedRoutes
    return isKind && isNamespaceAllowed(view, namespaces, owner.namespace, route.namespace)
  })
  if (allowed.length === 0) {
    const message = `no listener allows routes of kind ${route.kind} from namespace ${route.namespace}`
    return none('NotAllowedByListeners', message)
  }
  const lower = hostnames.map((name) => name.toLowerCase())
  const seen = allowed.filter(({ hostname }) => reachable(lower, hostname) !== undefined)
  if (seen.length === 0) {
    const message = `no listener serves any of ${lower.map((name) => `\`${name}\``).join(', ')}`
    return none('NoMatchingListenerHostname', message)
  }
  return { verdict: OK, listeners: seen }
}
