import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { renderStatus } from '../../diagnostics/render-status.ts'
import type { Delivery, Deployment } from '../delivery.ts'
import {
  type Condition,
  conditionOf,
  type ListenerStatus,
  type ObjectStatus,
  OK,
  type Refusal,
  refuse,
  type Verdict,
} from '../translate/conditions.ts'

/** What is known of the proxies of a Gateway. */
export interface Proxies {
  /** Published, and not necessarily applied. */
  readonly version: string
  readonly states: ReturnType<Delivery['proxies']>
  readonly deployment: Deployment
}

export interface LiveState {
  readonly proxiesOf: (gateway: string) => Proxies | undefined
  /** What is proven wrong with the rules of a policy, by its title. */
  readonly findings: ReadonlyMap<string, readonly Diagnostic[]>
}

/** Statuses with what only a running cluster tells: whether proxies serve it, and whether rules match. */
export function withLiveState(
  statuses: readonly ObjectStatus[],
  live: LiveState,
): readonly ObjectStatus[] {
  return statuses.map((status) => {
    if (status.kind === 'Gateway') return gateway(status, live)
    if (status.kind === 'ListenerSet') return listenerSet(status, live)
    return status.kind === 'ProxyPolicy' ? policy(status, live) : status
  })
}

function gateway(status: ObjectStatus, { proxiesOf }: LiveState): ObjectStatus {
  const { conditions = [], namespace, name } = status
  const proxies = proxiesOf(`${namespace}/${name}`)
  const accepted = conditions.find(({ type }) => type === 'Accepted')
  const verdict = accepted?.status === 'True' ? served(proxies) : refuse('Invalid', 'not accepted')
  const message = proxies === undefined ? '' : [countOf(proxies), ...rejected(proxies)].join('; ')
  const { listeners = [] } = status
  return {
    ...status,
    conditions: [...conditions, conditionOf('Programmed', verdict, 'Programmed', message)],
    addresses: proxies?.deployment.addresses ?? [],
    listeners: verdict.ok ? listeners : listeners.map((one) => notYet(one, verdict)),
  }
}

/** It is served by the proxies of its Gateway. */
function listenerSet(status: ObjectStatus, { proxiesOf }: LiveState): ObjectStatus {
  const { gateway: key = '', conditions = [], listeners = [] } = status
  const own = conditions.find(({ type }) => type === 'Programmed')
  const verdict =
    own?.status === 'True' ? served(proxiesOf(key)) : refuse('Pending', own?.message ?? '')
  if (verdict.ok) return status
  return {
    ...status,
    conditions: conditions.map((one) => pending(one, verdict)),
    listeners: listeners.map((one) => notYet(one, verdict)),
  }
}

/** No proxy, no listener; what is wrong with one anyway is still said. */
function notYet(listener: ListenerStatus, why: Refusal): ListenerStatus {
  return { ...listener, conditions: listener.conditions.map((one) => pending(one, why)) }
}

function pending(condition: Condition, { message }: Refusal): Condition {
  return condition.type === 'Programmed' && condition.status === 'True'
    ? conditionOf('Programmed', refuse('Pending', message))
    : condition
}

/** What proxies reject and no policy says: other kinds have no condition for it. */
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

/** A message is for people. */
const MAX_REJECTIONS = 10

function served(proxies: Proxies | undefined): Verdict {
  if (proxies === undefined) return refuse('Pending', 'it is not translated yet')
  const { states, version, deployment } = proxies
  const [failure] = deployment.failures
  const { addresses, missing } = deployment
  const isReachable = addresses.length > 0 && missing.length === 0
  const isServed = states.some(({ outcome }) => outcome?.version === version)
  // Proxies of other replicas are not seen here, but none is ready without a configuration.
  if (isReachable && (isServed || (states.length === 0 && deployment.isReady))) return OK
  if (failure !== undefined) return refuse('NoResources', `its proxies: ${failure}`)
  if (missing.length > 0) {
    return refuse('AddressNotUsable', `its Service is not given ${missing.join(', ')}`)
  }
  if (!isReachable) return refuse('AddressNotAssigned', 'its Service has no address yet')
  return refuse('Pending', countOf(proxies))
}

function countOf({ states, version, deployment: { failures } }: Proxies): string {
  const done = states.filter(({ outcome }) => outcome?.version === version).length
  const count = `${done} of ${states.length} connected proxies run the newest configuration`
  return [count, ...failures].join('; ')
}

/** Of a policy, for each Gateway that it reaches. */
function policy(status: ObjectStatus, { proxiesOf, findings }: LiveState): ObjectStatus {
  const title = `ProxyPolicy ${status.namespace}/${status.name}`
  const own = findings.get(title) ?? []
  const ancestors = (status.ancestors ?? []).map((ancestor) => {
    const attached = ancestor.conditions.find(({ type }) => type === 'Attached')
    if (attached?.status !== 'True') return ancestor
    const { namespace, name } = ancestor.ref as {
      readonly namespace: string
      readonly name: string
    }
    const proxies = proxiesOf(`${namespace}/${name}`)
    const conditions: readonly Condition[] = [
      ...ancestor.conditions,
      own.length === 0
        ? conditionOf('RulesHealthy', OK, 'Healthy')
        : conditionOf('RulesHealthy', refuse('NeverMatches', renderStatus(own, { object: title }))),
      programmed(title, proxies),
    ]
    return { ...ancestor, conditions }
  })
  return { ...status, ancestors }
}

function programmed(title: string, proxies: Proxies | undefined): Condition {
  if (proxies === undefined) {
    return conditionOf('Programmed', refuse('Pending', 'it is not delivered yet'))
  }
  const rejected = proxies.states.flatMap(({ outcome }) => {
    const all = outcome?.rejections.flatMap(({ diagnostics }) => diagnostics) ?? []
    return all.filter(({ origin }) => origin.kind === 'object' && origin.object === title)
  })
  if (rejected.length > 0) {
    const [first] = rejected
    const message = renderStatus(first === undefined ? [] : [first], { object: title })
    return conditionOf('Programmed', refuse('Rejected', `a proxy rejects it: ${message}`))
  }
  const verdict = served(proxies)
  return conditionOf('Programmed', verdict, 'Programmed', countOf(proxies))
}
