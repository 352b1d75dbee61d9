import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Certificate, ClientCertificates, Listener } from '../../model/gateway.ts'
import type { GatewayObject, ListenerSetObject, ListenerSpec } from '../resources/gateway.ts'
import { GATEWAY_API, type LabelSelector, selects } from '../resources/metadata.ts'
import { readCertificate } from './certificates.ts'
import {
  allRejections,
  firstRejection,
  OK,
  type Rejection,
  reject,
  type Verdict,
} from './conditions.ts'
import type { Frontend } from './frontend-tls.ts'
import { type ClusterView, complaint, originOf, type Read, verdictOn } from './view.ts'

export type ListenerOwner = Read<GatewayObject> | Read<ListenerSetObject>

/** A listener of a Gateway or of one of its ListenerSets, with its verdicts. */
export interface PlacedListener {
  readonly owner: ListenerOwner
  readonly index: number
  readonly spec: ListenerSpec
  /** The name in the Model: `name`, or `namespace/set/name`. */
  readonly name: string
  readonly supportedKinds: readonly RouteKind[]
  readonly accepted: Verdict
  readonly resolved: Verdict
  readonly conflict: Rejection | undefined
  readonly hostname: string | undefined
  readonly certificates: readonly Certificate[]
  /** A certificate is assumed to be in the cluster. */
  readonly isAssumed: boolean
  readonly clients: ClientCertificates | undefined
}

export interface RouteKind {
  readonly group: string
  readonly kind: string
}

const ROUTES_OF: Readonly<Record<string, readonly string[]>> = {
  HTTP: ['HTTPRoute', 'GRPCRoute'],
  HTTPS: ['HTTPRoute', 'GRPCRoute'],
  TCP: ['TCPRoute'],
}

function routeKindsOf({ protocol, tls }: ListenerSpec): readonly string[] {
  if (protocol !== 'TLS') return ROUTES_OF[protocol] ?? []
  return tls?.mode === 'Passthrough' ? ['TLSRoute'] : ['TLSRoute', 'TCPRoute']
}

export interface ListenerContext {
  readonly view: ClusterView
  readonly frontend: Frontend
  /** Why none of them can be served. */
  readonly whole: Verdict
  /** Ports of the proxy itself. */
  readonly reservedPorts: ReadonlySet<number>
}

/** Places all listeners of one owner; conflicts with others are detected when all are known. */
export function placeListeners(
  context: ListenerContext,
  owner: ListenerOwner,
): readonly PlacedListener[] {
  const prefix = owner.kind === 'ListenerSet' ? `${owner.key}/` : ''
  return owner.value.spec.listeners.map((spec, index) => {
    const kinds = kindsAllowed(spec)
    const certificates = certificatesOf(context.view, owner, spec)
    const clients = context.frontend.clientsOf(spec)
    const hostname = spec.hostname === '' || spec.hostname === '*' ? undefined : spec.hostname
    return {
      owner,
      index,
      spec,
      name: `${prefix}${spec.name}`,
      supportedKinds: kinds.supported.map((kind) => ({ group: GATEWAY_API, kind })),
      accepted: allRejections([
        context.whole,
        verdictOn(owner.problems.filter(({ path }) => isOfListener(path, index))),
        acceptance(context, spec),
        clients.accepted,
      ]),
      resolved: allRejections([kinds.verdict, certificates.verdict, clients.resolved]),
      conflict: undefined,
      hostname: hostname?.toLowerCase(),
      certificates: certificates.found,
      isAssumed: certificates.isAssumed,
      clients: clients.clients,
    }
  })
}

/** Whether a part of a Gateway or ListenerSet belongs to one of its listeners. */
export function isOfListener(
  [, list, index, ...rest]: readonly PropertyKey[],
  one?: number,
): boolean {
  const isInside = list === 'listeners' && typeof index === 'number' && rest.length > 0
  return isInside && (one === undefined || one === index)
}

function acceptance({ reservedPorts }: ListenerContext, spec: ListenerSpec): Verdict {
  const { protocol, tls, port } = spec
  if (routeKindsOf(spec).length === 0) {
    const known = 'available: HTTP, HTTPS, TLS, TCP'
    return reject('UnsupportedProtocol', `protocol ${protocol} is not supported; ${known}`)
  }
  if (reservedPorts.has(port)) {
    return reject('PortUnavailable', `port ${port} is reserved for the proxy`)
  }
  if (protocol === 'HTTPS' && tls?.mode === 'Passthrough') {
    return reject(
      'UnsupportedValue',
      'HTTPS is always terminated; use protocol TLS for passthrough',
    )
  }
  const [option] = Object.keys(tls?.options ?? {})
  if (option !== undefined) {
    return reject('UnsupportedValue', `TLS option \`${option}\` is not supported`)
  }
  return OK
}

/** The kinds in `allowedRoutes.kinds` that the protocol can serve; by default, all of these. */
function kindsAllowed(spec: ListenerSpec) {
  const possible = routeKindsOf(spec)
  const { kinds } = spec.allowedRoutes
  if (kinds.length === 0) return { supported: possible, verdict: OK }
  const isPossible = ({ group, kind }: RouteKind) =>
    group === GATEWAY_API && possible.includes(kind)
  const wrong = kinds.find((one) => !isPossible(one))
  const verdict =
    wrong === undefined
      ? OK
      : reject(
          'InvalidRouteKinds',
          `a listener with protocol ${spec.protocol} does not support ${wrong.kind} of \`${wrong.group}\``,
        )
  return { supported: kinds.filter(isPossible).map(({ kind }) => kind), verdict }
}

function certificatesOf(view: ClusterView, owner: ListenerOwner, { protocol, tls }: ListenerSpec) {
  const found: Certificate[] = []
  const isTerminated = protocol === 'HTTPS' || (protocol === 'TLS' && tls?.mode !== 'Passthrough')
  let isAssumed = false
  if (!isTerminated) return { found, verdict: OK, isAssumed }
  const refs = tls?.certificateRefs ?? []
  if (refs.length === 0) {
    const message = 'tls.certificateRefs is required because TLS is terminated'
    return { found, verdict: reject('InvalidCertificateRef', message), isAssumed }
  }
  const from = { group: GATEWAY_API, kind: owner.kind, namespace: owner.namespace }
  const verdicts = refs.map((ref): Verdict => {
    const read = readCertificate(view, from, ref)
    if (read.ok && read.certificate !== undefined) found.push(read.certificate)
    else if (read.ok) isAssumed = true
    return read
  })
  return { found, verdict: firstRejection(verdicts), isAssumed }
}

/**
 * Rejects listeners that cannot be distinguished: those of an object yield to those of earlier
 * objects, and if the remaining ones of one object conflict, none of them is served (Gateway and
 * ListenerSet, `spec.listeners`).
 */
export function settleConflicts(listeners: readonly PlacedListener[]): readonly PlacedListener[] {
  const kept: PlacedListener[] = []
  return [...Map.groupBy(listeners, ({ owner }) => owner).values()].flatMap((own) => {
    const before = [...kept]
    const settled = own.map((listener) => rejectedBy(listener, before))
    const left = settled.filter(({ accepted }) => accepted.ok)
    const all = settled.map((listener) =>
      rejectedBy(
        listener,
        left.filter((other) => other !== listener),
      ),
    )
    kept.push(...all.filter(({ accepted }) => accepted.ok))
    return all
  })
}

function rejectedBy(listener: PlacedListener, rivals: readonly PlacedListener[]): PlacedListener {
  const conflict = listener.accepted.ok ? conflictWith(listener, rivals) : undefined
  return conflict === undefined ? listener : { ...listener, conflict, accepted: conflict }
}

function conflictWith(
  { spec, hostname }: PlacedListener,
  rivals: readonly PlacedListener[],
): Rejection | undefined {
  const same = rivals.filter((rival) => rival.spec.port === spec.port)
  const other = same.find((rival) => layerOf(rival.spec) !== layerOf(spec))
  if (other !== undefined) {
    const message = `port ${spec.port} already has protocol ${other.spec.protocol}`
    return reject('ProtocolConflict', message)
  }
  const twin = same.find((rival) => rival.hostname === hostname)
  if (twin === undefined) return undefined
  const name = hostname === undefined ? 'every hostname' : `\`${hostname}\``
  return reject('HostnameConflict', `another listener on port ${spec.port} already serves ${name}`)
}

/** Listeners of the same layer can share a port, by hostname. */
function layerOf({ protocol }: ListenerSpec): string {
  return protocol === 'HTTPS' ? 'TLS' : protocol
}

/** The listener of the Model; undefined if its port must not be opened for it. */
export function toListener(placed: PlacedListener): Listener | undefined {
  const { owner, index, spec, name, hostname, accepted, resolved, certificates, clients } = placed
  const isWithout = certificates.length === 0 && !placed.isAssumed
  if (!accepted.ok) return undefined
  const origin = originOf(owner, `spec.listeners[${index}]`)
  const identity = { name, origin, policies: [], ...(hostname === undefined ? {} : { hostname }) }
  const { port } = spec
  if (spec.protocol === 'HTTP' || spec.protocol === 'TCP') {
    return { ...identity, protocol: spec.protocol, port }
  }
  const protocol = spec.protocol === 'HTTPS' ? 'HTTPS' : 'TLS'
  if (protocol === 'TLS' && spec.tls?.mode === 'Passthrough') {
    return { ...identity, protocol, port, tls: { mode: 'Passthrough' } }
  }
  if (isWithout || (!resolved.ok && CLIENT_REASONS.has(resolved.reason))) {
    const message = resolved.ok ? 'no certificate' : resolved.message
    const diagnostics: readonly Diagnostic[] = [
      complaint(owner, `spec.listeners[${index}].tls`, 'PC0706', message),
    ]
    return { ...identity, protocol: 'Invalid', port, diagnostics }
  }
  const tls = {
    mode: 'Terminate',
    certificates,
    ...(clients === undefined ? {} : { clients }),
  } as const
  return { ...identity, protocol, port, tls }
}

/** Whether connections are served, and not only closed. */
export function isServed(placed: PlacedListener): boolean {
  const listener = toListener(placed)
  return listener !== undefined && listener.protocol !== 'Invalid'
}

/** Without these CAs, no client certificate would be requested. */
const CLIENT_REASONS: ReadonlySet<string> = new Set([
  'InvalidCACertificateRef',
  'InvalidCACertificateKind',
])

/** Whether a route or a ListenerSet from a namespace is allowed. */
export function isNamespaceAllowed(
  view: ClusterView,
  { from, selector }: { readonly from: string; readonly selector?: LabelSelector | undefined },
  own: string,
  other: string,
): boolean {
  if (from === 'All') return true
  if (from === 'Same') return own === other
  return from === 'Selector' && selector !== undefined && selects(selector, view.labelsOf(other))
}
