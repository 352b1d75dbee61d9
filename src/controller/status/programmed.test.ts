import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Deployment, ProxyState } from '../delivery.ts'
import type { Condition, ObjectStatus } from '../translate/conditions.ts'
import { withLiveState } from './programmed.ts'

const accepted: Condition = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }
const attached: Condition = { ...accepted, type: 'Attached', reason: 'Attached' }
const gateway: ObjectStatus = {
  kind: 'Gateway',
  namespace: 'apps',
  name: 'edge',
  generation: 1,
  conditions: [accepted],
}
const ref = { group: 'g', kind: 'Gateway', namespace: 'apps', name: 'edge' }
const policy: ObjectStatus = {
  kind: 'ProxyPolicy',
  namespace: 'apps',
  name: 'p',
  generation: 1,
  ancestors: [{ ref, conditions: [accepted, attached] }],
}
const ADDRESS = [{ type: 'IPAddress', value: '192.0.2.1' }]
const done: ProxyState = { node: 'a', outcome: { version: 'v2', rejections: [] } }
const behind: ProxyState = { node: 'b', outcome: { version: 'v1', rejections: [] } }
const origin = { kind: 'object', object: 'ProxyPolicy apps/p', field: 'spec.traffic.x' } as const
const said = { code: 'PC0701', severity: 'error', message: 'no', origin } as const
const rejecting: ProxyState = {
  node: 'c',
  outcome: { version: 'v2', rejections: [{ diagnostics: [said] }] },
}

function programmed(
  status: ObjectStatus,
  states: readonly ProxyState[],
  deployment: Partial<Deployment> = {},
): string {
  const usual = { isReady: false, addresses: ADDRESS, missing: [], failures: [] }
  const sequenceOf = (version: string) => Number(version.slice(1))
  const proxies = { sequenceOf, states, deployment: { ...usual, ...deployment } }
  const sinceAt = () => ({ generation: 7, sequence: 2 })
  const made = withLiveState(status, { findings: [], proxiesOf: () => proxies, sinceAt })
  const all = made.conditions ?? made.ancestors?.[0]?.conditions ?? []
  const found = all.find(({ type }) => type === 'Programmed')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

describe('Programmed', () => {
  const table: readonly (readonly [string, string, string])[] = [
    [
      'a proxy has the newest configuration',
      programmed(gateway, [done, behind]),
      'True Programmed: 1 of 2 connected proxies run generation 7',
    ],
    [
      'none has it yet',
      programmed(gateway, [behind], { isReady: true }),
      'False Pending: 0 of 1 connected proxies run generation 7',
    ],
    [
      'proxies are connected to other replicas only, and ready',
      programmed(gateway, [], { isReady: true }),
      'True Programmed: 0 of 0 connected proxies run generation 7',
    ],
    [
      'there is no proxy at all',
      programmed(gateway, []),
      'False Pending: 0 of 0 connected proxies run generation 7',
    ],
    [
      'all proxies have the policy, however many there are',
      programmed(policy, [done, { ...done, node: 'd' }]),
      'True Programmed: all connected proxies run generation 7',
    ],
    [
      'not all proxies have the policy',
      programmed(policy, [done, behind]),
      'True Programmed: 1 of 2 connected proxies run generation 7',
    ],
    [
      'a proxy that has just started does not count yet',
      programmed(policy, [done, { node: 'new', outcome: undefined }]),
      'True Programmed: all connected proxies run generation 7',
    ],
    [
      'there is no address',
      programmed(gateway, [done], { addresses: [] }),
      'False AddressNotAssigned: the Service has no address yet',
    ],
    [
      'it has an address, but not one that it asks for',
      programmed(gateway, [done], { missing: ['192.0.2.9', '192.0.2.10'] }),
      'False AddressNotUsable: the Service has not been assigned 192.0.2.9, 192.0.2.10',
    ],
    [
      'it has no address, and asks for one',
      programmed(gateway, [done], { addresses: [], missing: ['192.0.2.9'] }),
      'False AddressNotUsable: the Service has not been assigned 192.0.2.9',
    ],
    [
      'proxies cannot be deployed',
      programmed(gateway, [], { addresses: [], failures: ['Service apps/edge: taken'] }),
      'False NoResources: cannot deploy the proxies: Service apps/edge: taken',
    ],
    [
      'something of them cannot be deployed, but they serve',
      programmed(gateway, [done], { failures: ['Service apps/edge: taken'] }),
      'True Programmed: 1 of 1 connected proxies run generation 7; Service apps/edge: taken',
    ],
    [
      'a proxy rejects the policy',
      programmed(policy, [done, rejecting]),
      'False Rejected: a proxy rejects it: spec.traffic.x: no (PC0701)',
    ],
  ]
  for (const [title, found, expected] of table) {
    it(title, () => assert.equal(found, expected))
  }

  it('the Gateway reports once what proxies reject of routes', () => {
    const at = { kind: 'object', object: 'HTTPRoute apps/r', field: 'spec.rules[0]' } as const
    const one = { code: 'PC0701', severity: 'error', message: 'no', origin: at } as const
    const states = ['c', 'd'].map((node) => ({
      node,
      outcome: { version: 'v2', rejections: [{ diagnostics: [one, said] }] },
    }))
    assert.equal(
      programmed(gateway, states),
      'True Programmed: 2 of 2 connected proxies run generation 7; ' +
        'a proxy rejects HTTPRoute apps/r: spec.rules[0]: no (PC0701)',
    )
  })

  it('a listener is programmed if its Gateway is', () => {
    const own: Condition = { ...accepted, type: 'Programmed', reason: 'Programmed' }
    const bad: Condition = { ...own, status: 'False', reason: 'Invalid', message: 'why' }
    const listener = (name: string, condition: Condition) => ({
      name,
      supportedKinds: [],
      attachedRoutes: 0,
      conditions: [accepted, condition],
    })
    const listeners = [listener('a', own), listener('b', bad)]
    const found = (status: ObjectStatus, states: readonly ProxyState[]) => {
      const deployment = { isReady: false, addresses: ADDRESS, missing: [], failures: [] }
      const sequenceOf = (version: string) => Number(version.slice(1))
      const proxiesOf = (key: string) =>
        key === 'apps/edge' ? { sequenceOf, states, deployment } : undefined
      const sinceAt = () => ({ generation: 7, sequence: 2 })
      const made = withLiveState(status, { findings: [], proxiesOf, sinceAt })
      return [made.conditions ?? [], ...(made.listeners ?? []).map((one) => one.conditions)].map(
        (conditions) => conditions.map(({ status, reason }) => `${status} ${reason}`).join(', '),
      )
    }
    const served = 'True Accepted, True Programmed'
    const waiting = 'True Accepted, False Pending'
    const invalid = 'True Accepted, False Invalid'
    const set: ObjectStatus = {
      ...gateway,
      kind: 'ListenerSet',
      name: 'set',
      gateway: 'apps/edge',
      conditions: [accepted, own],
      listeners,
    }
    for (const status of [{ ...gateway, listeners }, set]) {
      assert.deepEqual(found(status, [done]), [served, served, invalid])
      assert.deepEqual(found(status, [behind]), [waiting, waiting, invalid])
      assert.deepEqual(found(status, []), [waiting, waiting, invalid])
    }
    const rejected: Condition = { ...own, status: 'False', reason: 'ParentNotAccepted' }
    const orphan = { ...set, conditions: [accepted, rejected] }
    const parentless = 'True Accepted, False ParentNotAccepted'
    assert.deepEqual(found(orphan, [done]), [parentless, waiting, invalid])
  })

  it('a Gateway that is not accepted is not programmed', () => {
    const bad = { ...accepted, status: 'False', reason: 'Invalid' } as const
    const status = { ...gateway, conditions: [bad] }
    assert.equal(programmed(status, []), 'False Invalid: not accepted')
    assert.match(programmed(status, [done]), /^False Invalid: not accepted: its proxies remain/)
  })
})

describe('RulesHealthy', () => {
  it('is false with the findings, for the policy that has them', () => {
    const none = () => undefined
    const made = withLiveState(policy, { findings: [said], proxiesOf: none, sinceAt: none })
    const found = made.ancestors?.[0]?.conditions.find(({ type }) => type === 'RulesHealthy')
    assert.deepEqual(
      [found?.status, found?.reason, found?.message],
      ['False', 'NeverMatches', 'spec.traffic.x: no (PC0701)'],
    )
  })
  it('is false for a policy that is not accepted: all requests that it guards are denied', () => {
    const none = () => undefined
    const [ancestor] = policy.ancestors ?? []
    const wrong = {
      ...accepted,
      status: 'False',
      reason: 'Invalid',
      message: 'no (PC0107)',
    } as const
    const conditions = [wrong, ...(ancestor?.conditions ?? [])]
    const status = { ...policy, ancestors: [{ ref: ancestor?.ref ?? {}, conditions }] }
    const made = withLiveState(status, { findings: [], proxiesOf: none, sinceAt: none })
    const found = made.ancestors?.[0]?.conditions.find(({ type }) => type === 'RulesHealthy')
    assert.deepEqual(
      [found?.status, found?.reason, found?.message],
      ['False', 'Invalid', 'all requests that it guards are denied: no (PC0107)'],
    )
  })
})
