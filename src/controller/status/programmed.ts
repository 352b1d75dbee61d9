import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { renderStatus } from '../../diagnostics/render-status.ts'
import type { Delivery, Deployment } from '../delivery.ts'
import {
  type Condition,
  conditionOf,
  type ListenerStatus,
  type ObjectStatus,
  OK,
  type Rejection,
  reject,
  type Verdict,
} from '../translate/conditions.ts'

/** The known state of a Gateway's proxies. */
export interface Proxies {
  readonly states: ReturnType<Delivery['proxies']>
  readonly deployment: Deployment
  /** The publication of a version; 0 if unknown. */
  readonly sequenceOf: (version: string) => number
}

/** A generation of an object, and the publication that delivered it to proxies. */
export interface Since {
  readonly generation: number
  readonly sequence: number
}

export interface LiveState {
  readonly proxiesOf: (gateway: string) => Proxies | undefined
  /** Undefined if the object is not published for the Gateway. */
  readonly sinceAt: (gateway: string) => Since | undefined
  /** Proven faults in the rules of a policy. */
  readonly findings: readonly Diagnostic[]
}

/**
 * Adds the state of a running cluster: whether proxies serve the object, and whether rules match.
 */
export function withLiveState(status: ObjectStatus, live: LiveState): ObjectStatus {
  if (status.kind === 'Gateway') return gateway(status, live)
  if (status.kind === 'ListenerSet') return listenerSet(status, live)
  return status.kind === 'ProxyPolicy' ? policy(status, live) : status
}

function gateway(status: ObjectStatus, { proxiesOf, sinceAt }: LiveState): ObjectStatus {
  const { conditions = [], namespace, name } = status
  const key = `${namespace}/${name}`
  const proxies = proxiesOf(key)
  const since = sinceAt(key)
  const accepted = conditions.find(({ type }) => type === 'Accepted')
  const verdict =
    accepted?.status === 'True' ? served(proxies, since) : reject('Invalid', notAccepted(proxies))
  const message =
    proxies === undefined || since === undefined
      ? ''
      : [countOf(proxies, since), ...rejected(proxies)].join('; ')
  const { listeners = [] } = status
  return {
    ...status,
    conditions: [...conditions, conditionOf('Programmed', verdict, 'Programmed', message)],
    addresses: proxies?.deployment.addresses ?? [],
    listeners: verdict.ok ? listeners : listeners.map((one) => notYet(one, verdict)),
  }
}

/** A ListenerSet is served by the proxies of its Gateway. */
function listenerSet(status: ObjectStatus, { proxiesOf, sinceAt }: LiveState): ObjectStatus {
  const { gateway: key = '', conditions = [], listeners = [] } = status
  const own = conditions.find(({ type }) => type === 'Programmed')
  const verdict =
    own?.status === 'True'
      ? served(proxiesOf(key), sinceAt(key))
      : reject('Pending', own?.message ?? '')
  if (verdict.ok) return status
  return {
    ...status,
    conditions: conditions.map((one) => pending(one, verdict)),
    listeners: listeners.map((one) => notYet(one, verdict)),
  }
}

/** Without proxies, no listener is programmed; other errors of a listener are still reported. */
function notYet(listener: ListenerStatus, why: Rejection): ListenerStatus {
  return { ...listener, conditions: listener.conditions.map((one) => pending(one, why)) }
}

function pending(condition: Condition, { message }: Rejection): Condition {
  return condition.type === 'Programmed' && condition.status === 'True'
    ? conditionOf('Programmed', reject('Pending', message))
    : condition
}

/** Describes what previously deployed proxies do. */
function notAccepted(proxies: Proxies | undefined): string {
  if (proxies === undefined || runningOf(proxies).length === 0) return 'not accepted'
  return (
    'not accepted: its proxies remain as deployed ' +
    'and receive changes to listeners, routes and policies'
  )
}

/** Rejections by proxies that no policy reports: other kinds have no condition for them. */
function rejected({ states }: Proxies): readonly string[] {
  const all = states.flatMap(({ outcome }) =>
    (outcome?.rejections ?? []).flatMap(({ diagnostics }) => diagnostics),
  )
  const texts = all.flatMap((one) => {
    const object = one.origin.kind === 'object' ? one.origin.object : ''
    if (object.startsWith('ProxyPolicy ')) return []
    return [`a proxy rejects ${object}: ${renderStatus([one], { object })}`]
  })
  return [...new Set(texts)].slice(0, MAX_REJECTIONS)
}

/** Messages must stay readable. */
const MAX_REJECTIONS = 10

function served(proxies: Proxies | undefined, since: Since | undefined): Verdict {
  if (proxies === undefined || since === undefined) {
    return reject('Pending', 'not translated yet')
  }
  const { states, deployment } = proxies
  const [failure] = deployment.failures
  const { addresses, missing } = deployment
  const isReachable = addresses.length > 0 && missing.length === 0
  const isServed = doneOf(proxies, since) > 0
  // Replicas report their proxies with a delay, but no proxy is ready without a configuration.
  if (isReachable && (isServed || (states.length === 0 && deployment.isReady))) return OK
  if (failure !== undefined) return reject('NoResources', `cannot deploy the proxies: ${failure}`)
  if (missing.length > 0) {
    return reject('AddressNotUsable', `the Service has not been assigned ${missing.join(', ')}`)
  }
  if (!isReachable) return reject('AddressNotAssigned', 'the Service has no address yet')
  return reject('Pending', countOf(proxies, since))
}

/** The proxies that have applied a configuration: the others serve nothing. */
export function runningOf({ states }: Proxies): Proxies['states'] {
  return states.filter(({ outcome }) => outcome !== undefined)
}

/** How many run this generation or a later one. */
export function doneOf({ states, sequenceOf }: Proxies, { sequence }: Since): number {
  return states.filter(({ outcome }) => outcome && sequenceOf(outcome.version) >= sequence).length
}

function countOf(proxies: Proxies, since: Since): string {
  const count = `${doneOf(proxies, since)} of ${runningOf(proxies).length} connected proxies`
  const text = `${count} run generation ${since.generation}`
  return [text, ...proxies.deployment.failures].join('; ')
}

/**
 * Without a number if it applies to all: otherwise thousands of policies would be written again
 * whenever a proxy connects or disconnects.
 */
function shareOf(proxies: Proxies, since: Since): string {
  const running = runningOf(proxies).length
  const isAll = running > 0 && doneOf(proxies, since) === running
  if (!isAll) return countOf(proxies, since)
  return `all connected proxies run generation ${since.generation}`
}

/** The status of a policy for each Gateway that it reaches. */
function policy(status: ObjectStatus, { proxiesOf, sinceAt, findings }: LiveState): ObjectStatus {
  const title = `ProxyPolicy ${status.namespace}/${status.name}`
  const ancestors = (status.ancestors ?? []).map((ancestor) => {
    const attached = ancestor.conditions.find(({ type }) => type === 'Attached')
    if (attached?.status !== 'True') return ancestor
    const { namespace, name } = ancestor.ref as {
      readonly namespace: string
      readonly name: string
    }
    const key = `${namespace}/${name}`
    const conditions: readonly Condition[] = [
      ...ancestor.conditions,
      conditionOf('RulesHealthy', healthOf(title, ancestor.conditions, findings), 'Healthy'),
      programmed(title, proxiesOf(key), sinceAt(key)),
    ]
    return { ...ancestor, conditions }
  })
  return { ...status, ancestors }
}

/** Invalid rules never match either, and everything they guard is denied. */
function healthOf(
  title: string,
  conditions: readonly Condition[],
  findings: readonly Diagnostic[],
): Verdict {
  const accepted = conditions.find(({ type }) => type === 'Accepted')
  if (accepted?.status === 'False') {
    return reject('Invalid', `all requests that it guards are denied: ${accepted.message}`)
  }
  if (findings.length === 0) return OK
  return reject('NeverMatches', renderStatus(findings, { object: title }))
}

function programmed(
  title: string,
  proxies: Proxies | undefined,
  since: Since | undefined,
): Condition {
  if (proxies === undefined || since === undefined) {
    return conditionOf('Programmed', reject('Pending', 'not delivered yet'))
  }
  const rejected = proxies.states.flatMap(({ outcome }) => {
    const all = outcome?.rejections.flatMap(({ diagnostics }) => diagnostics) ?? []
    return all.filter(({ origin }) => origin.kind === 'object' && origin.object === title)
  })
  if (rejected.length > 0) {
    const [first] = rejected
    const message = renderStatus(first === undefined ? [] : [first], { object: title })
    return conditionOf('Programmed', reject('Rejected', `a proxy rejects it: ${message}`))
  }
  return conditionOf('Programmed', served(proxies, since), 'Programmed', shareOf(proxies, since))
}
