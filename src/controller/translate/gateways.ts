import { isSame } from '../../model/reconcile.ts'
import type { Settings } from '../../model/settings.ts'
import {
  type GatewayObject,
  gateway,
  gatewayClass,
  type ListenerSetObject,
  listenerSet,
} from '../resources/gateway.ts'
import { GATEWAY_API, PORTCULLIS } from '../resources/metadata.ts'
import { proxyParameters } from '../resources/proxy.ts'
import { readCertificate } from './certificates.ts'
import { firstRejection, OK, reject, type Verdict } from './conditions.ts'
import { type Frontend, frontendOf } from './frontend-tls.ts'
import {
  isNamespaceAllowed,
  isOfListener,
  isServed,
  type PlacedListener,
  placeListeners,
  settleConflicts,
} from './listeners.ts'
import type { ClientMaterial } from './tls-value.ts'
import { type ClusterView, type PartProblem, type Read, verdictOn } from './view.ts'

/** A managed Gateway while its Model is built. */
export interface GatewayDraft {
  readonly read: Read<GatewayObject>
  readonly accepted: Verdict
  /** Whether its proxies, if there are any, get its configuration. */
  readonly isDelivered: boolean
  /** The verdict on `spec.tls.backend`; undefined if it is not set. */
  readonly clientCertificate: Verdict | undefined
  readonly frontend: Frontend
  readonly listeners: readonly PlacedListener[]
  readonly sets: readonly SetDraft[]
  /** The certificate that proxies present to backends. */
  readonly client: ClientMaterial | undefined
}

export interface SetDraft {
  readonly read: Read<ListenerSetObject>
  readonly accepted: Verdict
}

export interface GatewayDeps {
  readonly view: ClusterView
  readonly settings: Settings
  readonly controllerName: string
  /** Namespaces that proxies may be deployed in; all if undefined. */
  readonly gatewayNamespaces?: readonly string[]
}

/** A Gateway by its key; undefined if there is none with a class of this controller. */
export function draftOf(deps: GatewayDeps, key: string): GatewayDraft | undefined {
  const { view } = deps
  const [namespace = '', name = ''] = key.split('/')
  const read = view.get('Gateway', gateway, namespace, name)
  if (read === undefined) return undefined
  if (!Object.hasOwn(classesOf(deps), read.value.spec.gatewayClassName)) return undefined
  return draftGateway(deps, read, setsOf(view, key))
}

/** The names of this controller's classes, and what is wrong with each of them. */
function classesOf({ view, controllerName }: GatewayDeps): Readonly<Record<string, Verdict>> {
  const find = () =>
    Object.fromEntries(
      view
        .all('GatewayClass', gatewayClass)
        .filter(({ value }) => value.spec.controllerName === controllerName)
        .map(({ name, problems }) => [name, verdictOn(problems, 'InvalidParameters')]),
    )
  return view.cells.shared('classes', find, isSame)
}

/** The ListenerSets of a Gateway, oldest first. */
function setsOf(view: ClusterView, key: string): readonly Read<ListenerSetObject>[] {
  const find = () => view.all('ListenerSet', listenerSet).filter((set) => gatewayOfSet(set) === key)
  const isUnchanged = (a: readonly Read[], b: readonly Read[]) =>
    a.length === b.length && a.every((one, at) => one === b[at])
  return view.cells.shared(`sets of ${key}`, find, isUnchanged)
}

/** The key of the Gateway that a ListenerSet belongs to. */
export function gatewayOfSet({ value, namespace }: Read<ListenerSetObject>): string {
  const { group, kind, name, namespace: other = namespace } = value.spec.parentRef
  return group === GATEWAY_API && kind === 'Gateway' ? `${other}/${name}` : ''
}

function draftGateway(
  deps: GatewayDeps,
  read: Read<GatewayObject>,
  sets: readonly Read<ListenerSetObject>[],
): GatewayDraft {
  const { view, settings } = deps
  const frontend = frontendOf(view, read)
  const accepted = acceptance(deps, read)
  const client = clientOf(view, read)
  const whole = accepted.ok || accepted.reason !== 'UnsupportedValue' ? OK : accepted
  const context = { view, frontend, whole, reservedPorts: reservedPorts(settings) }
  const drafts = sets.map((set): SetDraft => {
    const { namespaces } = read.value.spec.allowedListeners
    const isAllowed = isNamespaceAllowed(view, namespaces, read.namespace, set.namespace)
    const message = `Gateway ${read.key} does not allow ListenerSets from namespace ${set.namespace}`
    const verdict = isAllowed ? OK : reject('NotAllowed', message)
    const parent: Verdict = accepted.ok
      ? OK
      : reject('ParentNotAccepted', `Gateway ${read.key} is not accepted`)
    const content = verdictOn(set.problems.filter(({ path }) => !isOfListener(path)))
    return { read: set, accepted: firstRejection([verdict, parent, content]) }
  })
  const allowed = drafts.filter((draft) => draft.accepted.ok)
  const listeners = settleConflicts([
    ...placeListeners(context, read),
    ...allowed.flatMap((draft) => placeListeners(context, draft.read)),
  ])
  return {
    read,
    accepted,
    isDelivered: accepted.ok || DEPLOYMENT_REASONS.has(accepted.reason),
    clientCertificate: client?.verdict,
    frontend,
    listeners,
    sets: drafts.map((draft) => ({ ...draft, accepted: setVerdict(draft, listeners) })),
    client: client?.material,
  }
}

/**
 * Reasons that concern the deployment of proxies, not their behavior. Running proxies still get
 * every change of routes and policies: an error in parameters must not leave them with outdated
 * rules.
 */
const DEPLOYMENT_REASONS: ReadonlySet<string> = new Set([
  'InvalidParameters',
  'UnsupportedAddress',
  // All listeners are rejected: proxies close their ports.
  'UnsupportedValue',
])

/**
 * What cannot be read of a Gateway: of its addresses, of the deployment of its proxies, or of
 * anything else, which affects all listeners. That of one listener affects only this listener.
 */
function rejectionOf(problems: readonly PartProblem[]): Verdict {
  const reasons = Map.groupBy(
    problems.filter(({ path }) => !isOfListener(path)),
    ({ path }) => REASONS[String(path[1])] ?? 'UnsupportedValue',
  )
  const [reason = ''] = ['UnsupportedValue', ...Object.values(REASONS)].filter((one) =>
    reasons.has(one),
  )
  return verdictOn([...reasons.values()].flat(), reason)
}

const REASONS: Readonly<Record<string, string>> = {
  addresses: 'UnsupportedAddress',
  infrastructure: 'InvalidParameters',
}

/** An MCP server has the level of its backend, as in files. */
export function partLevel(view: ClusterView, key: string): 'backend' | 'provider' {
  const { mcp } = (view.live('ProxyBackend', key)?.spec ?? {}) as { readonly mcp?: unknown }
  return mcp === undefined ? 'provider' : 'backend'
}

/** A set without any listener that can be served is not accepted. */
function setVerdict({ read, accepted }: SetDraft, listeners: readonly PlacedListener[]): Verdict {
  if (!accepted.ok) return accepted
  const own = listeners.filter(({ owner }) => owner === read)
  return own.some(isServed) ? OK : reject('ListenersNotValid', 'none of its listeners is valid')
}

function acceptance(
  deps: GatewayDeps,
  { value, namespace, problems }: Read<GatewayObject>,
): Verdict {
  const { view, gatewayNamespaces } = deps
  const ofClass = classesOf(deps)[value.spec.gatewayClassName] ?? OK
  const { infrastructure, addresses } = value.spec
  if (gatewayNamespaces !== undefined && !gatewayNamespaces.includes(namespace)) {
    const message =
      `the controller is not permitted to deploy proxies in namespace ${namespace}: ` +
      `rbac.gatewayNamespaces lists ${gatewayNamespaces.join(', ')}; ` +
      'existing proxies there no longer receive changes; delete them'
    return reject('Invalid', message)
  }
  const content = firstRejection([rejectionOf(problems), ofClass])
  if (!content.ok) return content
  const ref = infrastructure?.parametersRef
  if (ref !== undefined) {
    const isKnown = ref.group === PORTCULLIS && ref.kind === 'ProxyParameters'
    if (!isKnown) {
      const message = `${ref.kind} ${namespace}/${ref.name} of \`${ref.group}\` not found`
      return reject('InvalidParameters', message)
    }
    const verdict = parametersVerdict(view, namespace, ref.name)
    if (!verdict.ok) return verdict
  }
  const odd = addresses.find(({ type }) => type !== 'IPAddress' && type !== 'Hostname')
  if (odd !== undefined) {
    return reject('UnsupportedAddress', `addresses of type ${odd.type} are not supported`)
  }
  return OK
}

/** Whether ProxyParameters exist and can be read. */
export function parametersVerdict(view: ClusterView, namespace: string, name: string): Verdict {
  const found = view.get('ProxyParameters', proxyParameters, namespace, name)
  if (found === undefined) {
    const message = view.absence('ProxyParameters', proxyParameters, namespace, name)
    return reject('InvalidParameters', message)
  }
  const content = verdictOn(found.problems, 'InvalidParameters')
  return content.ok
    ? OK
    : reject(content.reason, `ProxyParameters ${namespace}/${name}: ${content.message}`)
}

/** `spec.tls.backend.clientCertificateRef` */
function clientOf(view: ClusterView, { value, namespace }: Read<GatewayObject>) {
  const ref = value.spec.tls?.backend?.clientCertificateRef
  if (ref === undefined) return undefined
  const from = { group: GATEWAY_API, kind: 'Gateway', namespace }
  const read = readCertificate(view, from, ref, { invalid: 'InvalidClientCertificateRef' })
  if (!read.ok) return { verdict: read, material: undefined }
  const material: ClientMaterial | undefined = read.certificate
  return { verdict: OK, material }
}

function reservedPorts({ admin, stats, readiness }: Settings): ReadonlySet<number> {
  return new Set([admin, stats, readiness].flatMap((one) => (one.kind === 'tcp' ? [one.port] : [])))
}
