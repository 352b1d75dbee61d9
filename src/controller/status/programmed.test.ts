import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import type { Deployment, ProxyState } from '../delivery.ts'
import type { Condition, ObjectStatus } from '../translate/conditions.ts'
import { KnownProxies } from './known-proxies.ts'
import { type Proxies, withLiveState } from './programmed.ts'

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

const NOW = Date.parse('2026-01-01T00:00:00Z')
const sequenceOf = (version: string) => Number(version.slice(1))
const sinceAt = () => ({ generation: 7, sequence: 2 })

interface Seen {
  readonly connected?: readonly ProxyState[]
  /** By default all that are connected and run something. */
  readonly ready?: readonly string[]
  readonly deployment?: Partial<Deployment>
}

/** A minute after the proxies were seen first. */
function proxiesOf({ connected = [], ready, deployment = {} }: Seen): Proxies {
  let now = NOW
  const known = new KnownProxies(() => now)
  const running = connected.filter(({ outcome }) => outcome !== undefined)
  const reports = { connected, ready: ready ?? running.map(({ node }) => node), sequenceOf }
  known.look('apps/edge', reports)
  now += 60_000
  const usual = { addresses: ADDRESS, missing: [], failures: [] }
  return { ...known.look('apps/edge', reports), deployment: { ...usual, ...deployment } }
}

function programmed(status: ObjectStatus, seen: Seen): string {
  const proxies = proxiesOf(seen)
  const made = withLiveState(status, { findings: [], proxiesOf: () => proxies, sinceAt })
  const all = made.conditions ?? made.ancestors?.[0]?.conditions ?? []
  const found = all.find(({ type }) => type === 'Programmed')
  return `${found?.status} ${found?.reason}: ${found?.message}`
}

describe('Programmed', () => {
  const table: readonly (readonly [string, string, string])[] = [
    [
      'all ready proxies have the newest configuration',
      programmed(gateway, { connected: [done, { ...done, node: 'd' }] }),
      'True Programmed: 2 of 2 ready proxies run generation 7',
    ],
    [
      'one of two has it',
      programmed(gateway, { connected: [done, behind] }),
      'False Pending: 1 of 2 ready proxies run generation 7',
    ],
    [
      'ready proxies are connected to no replica',
      programmed(gateway, { connected: [done], ready: ['a', 'x', 'y'] }),
      'False Pending: 1 of 3 ready proxies run generation 7; ' +
        '2 are not connected since 2026-01-01T00:00:00Z: x, y',
    ],
    [
      'the only ready proxy is not connected',
      programmed(gateway, { ready: ['x'] }),
      'False Pending: 0 of 1 ready proxies run generation 7; ' +
        '1 is not connected since 2026-01-01T00:00:00Z: x',
    ],
    ['there is no proxy at all', programmed(gateway, {}), 'False Pending: no proxy is ready'],
    [
      'the only proxy has it, but is not ready',
      programmed(gateway, { connected: [done], ready: [] }),
      'False Pending: no proxy is ready',
    ],
    [
      'a proxy that is not ready is behind',
      programmed(gateway, { connected: [done, behind], ready: ['a'] }),
      'True Programmed: 1 of 1 ready proxies run generation 7',
    ],
    [
      'all ready proxies have the policy, however many there are',
      programmed(policy, { connected: [done, { ...done, node: 'd' }] }),
      'True Programmed: all ready proxies run generation 7',
    ],
    [
      'not all ready proxies have the policy',
      programmed(policy, { connected: [done, behind] }),
      'False Pending: 1 of 2 ready proxies run generation 7',
    ],
    [
      'the only proxy has the policy, but is not ready',
      programmed(policy, { connected: [done], ready: [] }),
      'False Pending: no proxy is ready',
    ],
    [
      'a proxy that has just started gets no traffic yet',
      programmed(policy, { connected: [done, { node: 'new', outcome: undefined }] }),
      'True Programmed: all ready proxies run generation 7',
    ],
    [
      'many proxies are not connected',
      programmed(gateway, { ready: ['a', 'b', 'c', 'd', 'e', 'f'] }),
      'False Pending: 0 of 6 ready proxies run generation 7; ' +
        '6 are not connected since 2026-01-01T00:00:00Z: a, b, c, d, e, …',
    ],
    [
      'there is no address',
      programmed(gateway, { connected: [done], deployment: { addresses: [] } }),
      'False AddressNotAssigned: the Service has no address yet',
    ],
    [
      'it has an address, but not one that it asks for',
      programmed(gateway, {
        connected: [done],
        deployment: { missing: ['192.0.2.9', '192.0.2.10'] },
      }),
      'False AddressNotUsable: the Service has not been assigned 192.0.2.9, 192.0.2.10',
    ],
    [
      'it has no address, and asks for one',
      programmed(gateway, {
        connected: [done],
        deployment: { addresses: [], missing: ['192.0.2.9'] },
      }),
      'False AddressNotUsable: the Service has not been assigned 192.0.2.9',
    ],
    [
      'proxies cannot be deployed',
      programmed(gateway, {
        deployment: { addresses: [], failures: ['Service apps/edge: taken'] },
      }),
      'False NoResources: cannot deploy the proxies: Service apps/edge: taken',
    ],
    [
      'something of them cannot be deployed, but they serve',
      programmed(gateway, {
        connected: [done],
        deployment: { failures: ['Service apps/edge: taken'] },
      }),
      'True Programmed: 1 of 1 ready proxies run generation 7; Service apps/edge: taken',
    ],
    [
      'a proxy rejects the policy',
      programmed(policy, { connected: [done, rejecting] }),
      'False Rejected: a proxy rejects it: spec.traffic.x: no (PC0701)',
    ],
  ]
  for (const [title, found, expected] of table) {
    it(title, () => assert.equal(found, expected))
  }

  it('is True only if every ready pod acknowledged the generation, whatever else is connected', () => {
    const version = fc.constantFrom(undefined, 'v1', 'v2', 'v3')
    /** What a pod reports in two moments; not connected: `null`. */
    const report = fc.option(version)
    const pod = fc.record({ isReady: fc.boolean(), before: report, now: report })
    const pods = fc.array(pod, { maxLength: 4 })
    const seconds = fc.constantFrom(0, 1, 29, 31, 1_000)
    fc.assert(
      fc.property(pods, seconds, fc.constantFrom(gateway, policy), (all, passed, status) => {
        let now = NOW
        const known = new KnownProxies(() => now)
        const connected = (moment: 'before' | 'now') =>
          all.flatMap((one, n) => {
            const version = one[moment]
            if (version === null) return []
            const outcome = version === undefined ? version : { version, rejections: [] }
            return [{ node: `p${n}`, outcome }]
          })
        const ready = all.flatMap(({ isReady }, n) => (isReady ? [`p${n}`] : []))
        known.look('apps/edge', { connected: connected('before'), ready, sequenceOf })
        now += passed * 1_000
        const proxies = {
          ...known.look('apps/edge', { connected: connected('now'), ready, sequenceOf }),
          deployment: { addresses: ADDRESS, missing: [], failures: [] },
        }
        const made = withLiveState(status, { findings: [], proxiesOf: () => proxies, sinceAt })
        const conditions = made.conditions ?? made.ancestors?.[0]?.conditions
        const found = conditions?.find(({ type }) => type === 'Programmed')
        /** The last report of each ready pod counts, also of one that is no longer connected. */
        const isDone = all
          .filter(({ isReady }) => isReady)
          .every((one) => {
            const last = one.now ?? one.before ?? undefined
            return last !== undefined && sequenceOf(last) >= 2
          })
        assert.equal(found?.status, isDone && ready.length > 0 ? 'True' : 'False')
        // A previous condition is kept only if nothing is known yet about those that are missing.
        if (passed > 30) assert.equal(found?.isProvisional, undefined)
      }),
    )
  })

  it('the Gateway reports once what proxies reject of routes', () => {
    const at = { kind: 'object', object: 'HTTPRoute apps/r', field: 'spec.rules[0]' } as const
    const one = { code: 'PC0701', severity: 'error', message: 'no', origin: at } as const
    const states = ['c', 'd'].map((node) => ({
      node,
      outcome: { version: 'v2', rejections: [{ diagnostics: [one, said] }] },
    }))
    assert.equal(
      programmed(gateway, { connected: states }),
      'True Programmed: 2 of 2 ready proxies run generation 7; ' +
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
      const proxies = proxiesOf({ connected: states })
      const only = (key: string) => (key === 'apps/edge' ? proxies : undefined)
      const made = withLiveState(status, { findings: [], proxiesOf: only, sinceAt })
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
    assert.equal(programmed(status, {}), 'False Invalid: not accepted')
    assert.match(
      programmed(status, { connected: [done] }),
      /^False Invalid: not accepted: its proxies remain/,
    )
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
