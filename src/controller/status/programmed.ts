import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { renderStatus } from '../../diagnostics/render-status.ts'
import type { Deployment, ProxyState } from '../delivery.ts'
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
import type { ReadyProxy } from './known-proxies.ts'

/** The known state of a Gateway's proxies. */
export interface Proxies {
  /** The proxies that get traffic: `Programmed` is about these. */
  readonly ready: readonly ReadyProxy[]
  /** The last state of each proxy that is connected or ready. */
  readonly states: readonly ProxyState[]
  readonly deployment: Deployment
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
  const made = conditionOf('Programmed', verdict, 'Programmed', message)
  const isProvisional = isUndecided(verdict, proxies, since)
  return {
    ...status,
    conditions: [...conditions, provisional(made, isProvisional)],
    addresses: proxies?.deployment.addresses ?? [],
    listeners: verdict.ok ? listeners : listeners.map((one) => notYet(one, verdict, isProvisional)),
  }
}

/** A ListenerSet is served by the proxies of its Gateway. */
function listenerSet(status: ObjectStatus, { proxiesOf, sinceAt }: LiveState): ObjectStatus {
  const { gateway: key = '', conditions = [], listeners = [] } = status
  const own = conditions.find(({ type }) => type === 'Programmed')
  const [proxies, since] = [proxiesOf(key), sinceAt(key)]
  const verdict =
    own?.status === 'True' ? served(proxies, since) : reject('Pending', own?.message ?? '')
  if (verdict.ok) return status
  const isProvisional = own?.status === 'True' && isUndecided(verdict, proxies, since)
  return {
    ...status,
    conditions: conditions.map((one) => pending(one, verdict, isProvisional)),
    listeners: listeners.map((one) => notYet(one, verdict, isProvisional)),
  }
}

/** Without proxies, no listener is programmed; other errors of a listener are still reported. */
function notYet(listener: ListenerStatus, why: Rejection, isProvisional: boolean): ListenerStatus {
  const conditions = listener.conditions.map((one) => pending(one, why, isProvisional))
  return { ...listener, conditions }
}

function pending(condition: Condition, { message }: Rejection, isProvisional: boolean): Condition {
  return condition.type === 'Programmed' && condition.status === 'True'
    ? provisional(conditionOf('Programmed', reject('Pending', message)), isProvisional)
    : condition
}

function provisional(condition: Condition, isProvisional: boolean): Condition {
  return isProvisional ? { ...condition, isProvisional } : condition
}

/** Describes what previously deployed proxies do. */
function notAccepted(proxies: Proxies | undefined): string {
  if (proxies?.states.some(({ outcome }) => outcome !== undefined) !== true) return 'not accepted'
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

/** True only if every proxy that gets traffic has applied this generation, and there is one. */
function served(proxies: Proxies | undefined, since: Since | undefined): Verdict {
  if (proxies === undefined || since === undefined) {
    return reject('Pending', 'not translated yet')
  }
  const { ready, deployment } = proxies
  const [failure] = deployment.failures
  const isReachable = isReachableAt(deployment)
  if (isReachable && ready.length > 0 && outdatedOf(proxies, since).length === 0) return OK
  if (failure !== undefined) return reject('NoResources', `cannot deploy the proxies: ${failure}`)
  const { missing } = deployment
  if (missing.length > 0) {
    return reject('AddressNotUsable', `the Service has not been assigned ${missing.join(', ')}`)
  }
  if (!isReachable) return reject('AddressNotAssigned', 'the Service has no address yet')
  return reject('Pending', countOf(proxies, since))
}

export function isReachableAt({ addresses, missing }: Deployment): boolean {
  return addresses.length > 0 && missing.length === 0
}

/** The proxies that get traffic without having applied this generation or a later one. */
export function outdatedOf({ ready }: Proxies, { sequence }: Since): readonly ReadyProxy[] {
  return ready.filter((proxy) => proxy.sequence < sequence)
}

/**
 * Whether only proxies that are still expected to connect are missing, as after another replica
 * became the leader. What was programmed before still is: proxies never return to an older
 * generation, and new ones start with the newest.
 */
function isUndecided(
  verdict: Verdict,
  proxies: Proxies | undefined,
  since: Since | undefined,
): boolean {
  if (verdict.ok || proxies === undefined || since === undefined) return false
  const outdated = outdatedOf(proxies, since)
  return (
    isReachableAt(proxies.deployment) &&
    outdated.length > 0 &&
    outdated.every(({ isExpected }) => isExpected)
  )
}

function countOf(proxies: Proxies, since: Since): string {
  const { ready, deployment } = proxies
  if (ready.length === 0) return ['no proxy is ready', ...deployment.failures].join('; ')
  const done = ready.length - outdatedOf(proxies, since).length
  const count = `${done} of ${ready.length} ready proxies run generation ${since.generation}`
  return [count, ...away(ready), ...deployment.failures].join('; ')
}

function away(ready: readonly ReadyProxy[]): readonly string[] {
  const all = ready.filter(({ awaySince }) => awaySince !== undefined)
  if (all.length === 0) return []
  // The latest: since then, all of them are away.
  const [since] = all
    .map(({ awaySince = '' }) => awaySince)
    .sort()
    .reverse()
  const named = all.slice(0, MAX_NAMES).map(({ node }) => node)
  const names = [...named, ...(all.at(MAX_NAMES) === undefined ? [] : ['…'])].join(', ')
  return [`${all.length} ${all.length === 1 ? 'is' : 'are'} not connected since ${since}: ${names}`]
}

/** Messages must stay readable. */
const MAX_NAMES = 5

/**
 * Without a number: otherwise thousands of policies would be written again whenever a proxy starts
 * or ends.
 */
function allOf({ generation }: Since): string {
  return `all ready proxies run generation ${generation}`
}

/** The status of a policy for each Gateway that it reaches. */
function policy(status: ObjectStatus, { proxiesOf, sinceAt, findings }: LiveState): ObjectStatus {
  const title = `ProxyPolicy ${status.namespace}/${status.name}`
  const ancestors = (status.ancestors ?? []).map((ancestor) => {
    const attached = ancestor.conditions.find(({ type }) => type === 'Attached')
    const isPresent = attached?.status === 'True' || attached?.reason === 'PartiallyAttached'
    if (!isPresent) return ancestor
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
  const verdict = served(proxies, since)
  const made = conditionOf('Programmed', verdict, 'Programmed', allOf(since))
  return provisional(made, isUndecided(verdict, proxies, since))
}
