import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { KubeObject } from '../cluster/object.ts'
import { xBackend } from '../resources/external.ts'
import { type GatewayClassObject, gatewayClass } from '../resources/gateway.ts'
import { inferencePool } from '../resources/inference.ts'
import { PORTCULLIS } from '../resources/metadata.ts'
import {
  type ProxyParametersObject,
  proxyBackend,
  proxyModel,
  proxyParameters,
} from '../resources/proxy.ts'
import { BackendTlsPolicies } from './backend-tls.ts'
import { makeBackend, problemsOf } from './backends.ts'
import {
  allRejections,
  type Condition,
  conditionOf,
  firstRejection,
  type ListenerStatus,
  OK,
  type Rejection,
  reject,
  type StatusWithDiagnostics,
  type Verdict,
} from './conditions.ts'
import { noEffects } from './effects.ts'
import { verdictOfXBackend } from './external-backends.ts'
import { type GatewayDraft, parametersVerdict, type SetDraft } from './gateways.ts'
import { pickerOf } from './inference-pools.ts'
import { isServed, type PlacedListener } from './listeners.ts'
import { type GatewayModels, verdictKey } from './models.ts'
import { unservedParts } from './proxy-backend.ts'
import type { RouteOutcome } from './route-outcome.ts'
import { isOfRule } from './route-rules.ts'
import { SUPPORTED_FEATURES } from './supported-features.ts'
import {
  type ClusterView,
  complaint,
  gatewayRef,
  identityOf,
  type Read,
  textOf,
  titleOf,
  verdictOn,
} from './view.ts'

type Unvalued = Omit<Read, 'value' | 'problems'>

/** Converts rejections to diagnostics, for users who have only manifests. */
function said(
  read: Unvalued,
  conditions: readonly Condition[],
  field = 'spec',
): readonly Diagnostic[] {
  return conditions
    .filter(
      ({ status, type }) => status === 'False' && type !== 'Programmed' && type !== 'Conflicted',
    )
    .map(({ type, reason, message }) =>
      complaint(read, field, CODES[reason] ?? 'PC0709', `${message} (${type}: ${reason})`),
    )
}

const CODES: Readonly<Record<string, string>> = {
  RefNotPermitted: 'PC0703',
  BackendNotFound: 'PC0702',
  InvalidKind: 'PC0702',
  InvalidExtensionRef: 'PC0702',
  InvalidParameters: 'PC0702',
  InvalidCertificateRef: 'PC0706',
  InvalidClientCertificateRef: 'PC0706',
  InvalidCACertificateRef: 'PC0706',
  InvalidCACertificateKind: 'PC0706',
  NoValidCACertificate: 'PC0706',
  HostnameConflict: 'PC0705',
  ProtocolConflict: 'PC0705',
  PortUnavailable: 'PC0705',
  Conflicted: 'PC0708',
  UnsupportedValue: 'PC0704',
  UnsupportedProtocol: 'PC0704',
  InvalidRouteKinds: 'PC0704',
}

export function classStatuses(
  view: ClusterView,
  controllerName: string,
): readonly StatusWithDiagnostics[] {
  const own = view
    .all('GatewayClass', gatewayClass)
    .filter(({ value }) => value.spec.controllerName === controllerName)
  return own.map((read) => {
    const verdict = allRejections([verdictOn(read.problems, 'Invalid'), ofParameters(view, read)])
    const conditions = [conditionOf('Accepted', verdict)]
    const supportedFeatures = SUPPORTED_FEATURES.map((name) => ({ name }))
    const status = { ...identityOf(read), conditions, supportedFeatures }
    return { status, diagnostics: said(read, conditions) }
  })
}

function ofParameters(view: ClusterView, { value }: Read<GatewayClassObject>): Verdict {
  const { parametersRef: ref } = value.spec
  if (ref === undefined) return OK
  const { group, kind, namespace = '', name } = ref
  if (group === PORTCULLIS && kind === 'ProxyParameters') {
    return parametersVerdict(view, namespace, name)
  }
  return reject('InvalidParameters', `${kind} ${namespace}/${name} not found`)
}

/** `attached`: listener of the Model → number of routes. */
export function gatewayStatuses(
  draft: GatewayDraft,
  attached: ReadonlyMap<string, number>,
): readonly StatusWithDiagnostics[] {
  const { read, accepted, clientCertificate, frontend, sets } = draft
  const own = draft.listeners.filter(({ owner }) => owner === read)
  const conditions = [
    acceptedOf(accepted, own),
    ...(clientCertificate === undefined ? [] : [conditionOf('ResolvedRefs', clientCertificate)]),
    ...(frontend.isInsecure
      ? [
          conditionOf(
            'InsecureFrontendValidationMode',
            OK,
            'ConfigurationChanged',
            'clients without a valid certificate are admitted',
          ),
        ]
      : []),
  ]
  const status = {
    ...identityOf(read),
    conditions,
    listeners: own.map((listener) => listenerStatus(listener, attached)),
    attachedListenerSets: sets.filter((set) => set.accepted.ok).length,
  }
  return [
    { status, diagnostics: [...said(read, conditions), ...own.flatMap(saidOfListener)] },
    ...sets.map((set) => setStatus(draft, set, attached)),
  ]
}

/** A Gateway is accepted if at least one of its listeners can be served. */
function acceptedOf(verdict: Verdict, listeners: readonly PlacedListener[]): Condition {
  const bad = listeners.filter((listener) => !isServed(listener))
  if (!verdict.ok || bad.length === 0) return conditionOf('Accepted', verdict)
  const message = `invalid listeners: ${bad.map(({ spec }) => spec.name).join(', ')}`
  return bad.length === listeners.length
    ? conditionOf('Accepted', reject('ListenersNotValid', message))
    : conditionOf('Accepted', OK, 'ListenersNotValid', message)
}

function listenerStatus(
  listener: PlacedListener,
  attached: ReadonlyMap<string, number>,
): ListenerStatus {
  const { spec, supportedKinds, accepted, resolved, conflict, name } = listener
  return {
    name: spec.name,
    supportedKinds,
    attachedRoutes: attached.get(name) ?? 0,
    conditions: [
      conditionOf('Accepted', accepted),
      conditionOf('Programmed', programmed(listener)),
      conditionOf('ResolvedRefs', resolved),
      conflict === undefined
        ? { type: 'Conflicted', status: 'False', reason: 'NoConflicts', message: '' }
        : {
            type: 'Conflicted',
            status: 'True',
            reason: conflict.reason,
            message: conflict.message,
          },
    ],
  }
}

function programmed(listener: PlacedListener): Verdict {
  const { accepted, resolved, conflict } = listener
  if (conflict !== undefined) return conflict
  if (!accepted.ok) return reject('Invalid', accepted.message)
  if (isServed(listener)) return OK
  return reject('Invalid', resolved.ok ? 'it cannot be served' : resolved.message)
}

function saidOfListener({ owner, index, accepted, resolved }: PlacedListener) {
  const conditions = [conditionOf('Accepted', accepted), conditionOf('ResolvedRefs', resolved)]
  return said(owner, conditions, `spec.listeners[${index}]`)
}

function setStatus(
  draft: GatewayDraft,
  { read, accepted }: SetDraft,
  attached: ReadonlyMap<string, number>,
): StatusWithDiagnostics {
  const own = draft.listeners.filter(({ owner }) => owner === read)
  const whole = accepted.ok ? acceptedOf(accepted, own) : conditionOf('Accepted', accepted)
  const conditions = [whole, conditionOf('Programmed', accepted)]
  const status = {
    ...identityOf(read),
    gateway: draft.read.key,
    conditions,
    listeners: own.map((listener) => listenerStatus(listener, attached)),
  }
  return { status, diagnostics: [...said(read, conditions), ...own.flatMap(saidOfListener)] }
}

export function routeStatus(outcome: Omit<RouteOutcome, 'status'>): StatusWithDiagnostics {
  const { read, attachments, resolved, problems, ruleCount } = outcome
  const refs = allRejections(resolved)
  const whole = verdictOn(read.problems.filter(({ path }) => !isOfRule(path)))
  const rules = allRejections(problems)
  const isWhole = problems.length === ruleCount
  const content = allRejections([whole, ...(isWhole ? [rules] : [])])
  const partly: readonly Condition[] =
    rules.ok || isWhole || !whole.ok ? [] : [partiallyInvalid(rules)]
  const stated = attachments.map(({ ref, verdict }) => ({
    ref,
    conditions: [
      conditionOf('Accepted', firstRejection([verdict, content])),
      conditionOf('ResolvedRefs', refs),
      ...partly,
    ],
  }))
  const diagnostics = stated.flatMap(({ conditions }, index) => {
    const [accepted, references] = conditions as [Condition, Condition]
    const ofRefs = index === 0 ? said(read, [references], 'spec.rules') : []
    return [...said(read, [accepted], `spec.parentRefs[${index}]`), ...ofRefs]
  })
  return { status: { ...identityOf(read), parents: stated }, diagnostics }
}

function partiallyInvalid({ reason, message }: Rejection): Condition {
  return { type: 'PartiallyInvalid', status: 'True', reason, message }
}

export function tlsStatuses(
  tls: BackendTlsPolicies,
  reached: (policy: string) => readonly string[],
): readonly StatusWithDiagnostics[] {
  return tls.all.map((policy) => {
    const conditions = tls.conditions(policy)
    const ancestors = [...tls.reachedBy(policy, reached)].sort().map((gateway) => ({
      ref: gatewayRef(gateway),
      conditions,
    }))
    return { status: { ...identityOf(policy), ancestors }, diagnostics: said(policy, conditions) }
  })
}

/** Includes backends that no route refers to. */
export function backendStatuses(view: ClusterView): readonly StatusWithDiagnostics[] {
  const deps = {
    view,
    tls: new BackendTlsPolicies(view),
    client: undefined,
    attached: () => [],
    effects: noEffects(),
  }
  const readable = view.all('ProxyBackend', proxyBackend).map((read) => {
    const { namespace, name } = read
    const made = makeBackend(deps, { kind: 'ProxyBackend', namespace, name })
    const own = problemsOf(read, made)
    const invalid = made.policies.flatMap((one) => (one.state === 'invalid' ? one.diagnostics : []))
    const wrong = [...own, ...invalid]
    const unserved = unservedParts(read)
    const verdict = wrong.length === 0 ? OK : reject('Invalid', textOf(wrong))
    const conditions = [conditionOf('Accepted', verdict, 'Accepted', textOf(unserved))]
    const diagnostics = [...wrong, ...unserved]
    return { status: { ...identityOf(read), conditions }, diagnostics }
  })
  const unreadable = view
    .failures('ProxyBackend', proxyBackend)
    .map(({ diagnostics, ...about }) => {
      const conditions = [conditionOf('Accepted', reject('Invalid', textOf(diagnostics)))]
      return { status: { ...identityOf(about), conditions }, diagnostics: [] }
    })
  return [...readable, ...unreadable]
}

export function parametersStatuses(view: ClusterView): readonly StatusWithDiagnostics[] {
  return view.all('ProxyParameters', proxyParameters).map((read) => {
    const diagnostics = isForMesh(read) ? [meshless(read)] : []
    const verdict = verdictOn(read.problems, 'Invalid')
    const conditions = [conditionOf('Accepted', verdict, 'Accepted', textOf(diagnostics))]
    return { status: { ...identityOf(read), conditions }, diagnostics }
  })
}

function isForMesh({ value: { spec } }: Read<ProxyParametersObject>): boolean {
  const { enabled } = (spec?.istio ?? {}) as { readonly enabled?: unknown }
  return enabled === true
}

function meshless(read: Unvalued): Diagnostic {
  const message = 'gateways cannot join a mesh: `istio` has no effect in this version'
  return {
    ...complaint(read, 'spec.istio', 'PC0220', message, 'remove it'),
    severity: 'warning',
  }
}

/** The statuses of backends that report their state for each Gateway that leads to them. */
export function reachedBackendStatuses(
  view: ClusterView,
  reached: (id: string) => readonly string[],
): readonly StatusWithDiagnostics[] {
  const stated = (read: Unvalued, conditions: readonly Condition[]) => {
    const gateways = reached(titleOf(read))
    const parents = gateways.map((gateway) => ({ ref: gatewayRef(gateway), conditions }))
    const list = read.kind === 'XBackend' && hasAncestors(read.object) ? 'ancestors' : 'parents'
    const own = { ...identityOf(read), [list]: parents }
    return { status: own, diagnostics: said(read, conditions) }
  }
  const external = view
    .all('XBackend', xBackend)
    .map((read) => stated(read, [conditionOf('Accepted', verdictOfXBackend(view, read))]))
  const pools = view.all('InferencePool', inferencePool).map((read) => {
    const picker = pickerOf(view, read)
    const resolved: Verdict = picker.ok ? OK : picker
    const content = verdictOn(read.problems, 'Invalid')
    return stated(read, [conditionOf('Accepted', content), conditionOf('ResolvedRefs', resolved)])
  })
  const unreadable = [
    ...view.failures('XBackend', xBackend),
    ...view.failures('InferencePool', inferencePool),
  ].map(({ diagnostics, ...about }) => {
    const verdict = reject('Invalid', textOf(diagnostics))
    return { ...stated(about, [conditionOf('Accepted', verdict)]), diagnostics: [] }
  })
  return [...external, ...pools, ...unreadable]
}

/** v1.7 of the Gateway API renamed `spec.port.port` to `number`, and `status.parents` as well. */
function hasAncestors({ spec }: KubeObject): boolean {
  // The object need not have been readable.
  const { port } = Object(spec) as { readonly port?: unknown }
  return Object.hasOwn(Object(port), 'number')
}

/** `gateways`: the models of each managed Gateway. */
export function modelStatuses(
  view: ClusterView,
  gateways: readonly GatewayModels[],
): readonly StatusWithDiagnostics[] {
  const problems = Map.groupBy(
    new Set(gateways.flatMap(({ diagnostics }) => diagnostics)),
    ({ origin }) => (origin.kind === 'object' ? origin.object : ''),
  )
  return view.all('ProxyModel', proxyModel).map((read) => {
    const attachments = read.value.spec.parentRefs.flatMap((ref, index) => {
      const id = verdictKey(read.key, index)
      const verdict = gateways.map(({ verdicts }) => verdicts.get(id)).find((one) => one)
      return verdict === undefined ? [] : [{ ref, conditions: [conditionOf('Accepted', verdict)] }]
    })
    const own = problems.get(titleOf(read)) ?? []
    const unattached = attachments.flatMap(({ conditions }) =>
      own.length === 0 ? said(read, conditions, 'spec.parentRefs') : [],
    )
    const status = { ...identityOf(read), parents: attachments }
    return { status, diagnostics: [...own, ...unattached] }
  })
}
