import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { ProxyState } from '../delivery.ts'
import type { Condition, ObjectStatus } from '../translate/conditions.ts'
import { KnownProxies } from './known-proxies.ts'
import { LiveStatuses } from './live-statuses.ts'
import { Rollouts } from './rollouts.ts'

const accepted: Condition = { type: 'Accepted', status: 'True', reason: 'Accepted', message: '' }
const attached: Condition = { ...accepted, type: 'Attached' }
const conditions = [accepted, attached]
const ref = { group: 'g', kind: 'Gateway', namespace: 'apps', name: 'edge' }
const gateway = { kind: 'Gateway', namespace: 'apps', name: 'edge', generation: 1, conditions }
const policies = 5_000

function policy(n: number, generation = 1): ObjectStatus {
  const name = `p${n}`
  return {
    kind: 'ProxyPolicy',
    namespace: 'apps',
    name,
    generation,
    ancestors: [{ ref, conditions }],
  }
}

function proxy(node: string, version: string): ProxyState {
  return { node, outcome: { version, rejections: [] } }
}

describe('statuses with proxy states', () => {
  let states: readonly ProxyState[]
  let ready: readonly string[] | undefined
  let now: number
  let rollouts: Rollouts
  let statuses: LiveStatuses
  const addresses = [{ type: 'IPAddress', value: '192.0.2.1' }]
  const names = () =>
    statuses
      .take()
      .map(({ name }) => name)
      .sort()
  const programmedOf = (status: ObjectStatus | undefined) =>
    status?.ancestors?.[0]?.conditions.find(({ type }) => type === 'Programmed')

  beforeEach(() => {
    rollouts = new Rollouts()
    states = [proxy('a', 'v1'), proxy('b', 'v1')]
    ready = undefined
    now = 0
    const known = new KnownProxies(() => now)
    statuses = new LiveStatuses({
      proxiesOf: (key) => ({
        ...known.look(key, {
          connected: states,
          ready: ready ?? states.filter(({ outcome }) => outcome).map(({ node }) => node),
          sequenceOf: (version) => rollouts.sequenceOf(key, version),
        }),
        deployment: { addresses, missing: [], failures: [] },
      }),
      latest: (key) => rollouts.latest(key),
    })
    rollouts.published('apps/edge', 'v1')
    statuses.touch([gateway, ...Array.from({ length: policies }, (_, n) => policy(n))])
    assert.equal(statuses.take().length, policies + 1)
  })

  it('are stable when idle', () => assert.deepEqual(names(), []))

  it('an edit updates the edited object while proxies receive it and after', () => {
    rollouts.published('apps/edge', 'v2')
    statuses.touch([policy(7, 2)])
    const [made] = statuses.take()
    assert.deepEqual(
      [made?.name, programmedOf(made)?.status, programmedOf(made)?.message],
      ['p7', 'False', '0 of 2 ready proxies run generation 2'],
    )
    states = [proxy('a', 'v2'), proxy('b', 'v1')]
    assert.deepEqual(names(), ['edge', 'p7'])
    states = [proxy('a', 'v2'), proxy('b', 'v2')]
    assert.deepEqual(names(), ['edge', 'p7'])
    assert.deepEqual(names(), [])
  })

  it('a proxy that connects or disconnects updates only the Gateway', () => {
    states = [...states, { node: 'c', outcome: undefined }]
    assert.deepEqual(names(), [])
    states = [proxy('a', 'v1'), proxy('b', 'v1'), proxy('c', 'v1')]
    assert.deepEqual(names(), ['edge'])
    states = [proxy('c', 'v1')]
    assert.deepEqual(names(), ['edge'])
  })

  it('a proxy that returns with an old configuration updates what it lacks', () => {
    rollouts.published('apps/edge', 'v2')
    statuses.touch([policy(7, 2)])
    states = [proxy('a', 'v2'), proxy('b', 'v2')]
    statuses.take()
    states = [proxy('a', 'v2'), proxy('b', 'v1')]
    const made = statuses.take().find(({ name }) => name === 'p7')
    assert.equal(programmedOf(made)?.message, '1 of 2 ready proxies run generation 2')
  })

  it('all change when the last proxy ends', () => {
    states = []
    assert.equal(names().length, policies + 1)
  })

  it('a ready proxy that disconnects still runs what it has, and no later generation', () => {
    ready = ['a', 'b']
    states = [proxy('a', 'v1')]
    assert.deepEqual(names(), ['edge'])
    rollouts.published('apps/edge', 'v2')
    statuses.touch([policy(7, 2)])
    states = [proxy('a', 'v2')]
    now = 60_000
    const made = statuses.take().find(({ name }) => name === 'p7')
    assert.equal(
      programmedOf(made)?.message,
      '1 of 2 ready proxies run generation 2; 1 is not connected since 1970-01-01T00:00:00Z: b',
    )
    assert.deepEqual(names(), [])
  })

  it('proxies that have not connected yet are expected to for a while', () => {
    ready = ['a', 'b', 'c']
    const made = statuses.take()
    assert.equal(made.length, policies + 1)
    assert.ok(made.every((one) => one.kind === 'Gateway' || programmedOf(one)?.isProvisional))
    assert.ok(statuses.isUnsettled)
    now = 31_000
    const later = statuses.take()
    assert.equal(later.length, policies + 1)
    assert.ok(later.every((one) => !programmedOf(one)?.isProvisional))
    assert.ok(!statuses.isUnsettled)
    states = [...states, proxy('c', 'v1')]
    assert.equal(names().length, policies + 1)
    assert.deepEqual(names(), [])
  })

  it('removed objects are forgotten', () => {
    statuses.forget(['ProxyPolicy apps/p7'])
    states = []
    assert.equal(names().length, policies)
  })

  it('a finding updates its policy', () => {
    const origin = { kind: 'object', object: 'ProxyPolicy apps/p9', field: 'spec' } as const
    const said = { code: 'PC0701', severity: 'error', message: 'no', origin } as const
    statuses.useFindings(new Map([['ProxyPolicy apps/p9', [said]]]))
    assert.deepEqual(names(), ['p9'])
    statuses.useFindings(new Map([['ProxyPolicy apps/p9', [{ ...said }]]]))
    assert.deepEqual(names(), [])
    statuses.useFindings(new Map())
    assert.deepEqual(names(), ['p9'])
  })
})
