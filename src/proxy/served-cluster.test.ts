import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Backend } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { OpenCluster } from '../upstream/clusters.ts'
import { ServedCluster } from './served-cluster.ts'

const origin = { kind: 'object', object: 'test', field: '' } as const
const rest = { name: 'orders', origin, policies: [] } as const
const HOSTS: Backend = {
  ...rest,
  kind: 'host',
  endpoints: [
    { host: '10.0.0.1', port: 80 },
    { host: '10.0.0.2', port: 80 },
  ],
}
const CHECK = { kind: 'healthCheck', section: 'backend', state: 'valid' } as unknown as ValidPolicy

function served(backend: Backend, policies: readonly ValidPolicy[] = []) {
  const events: string[] = []
  const open = (): OpenCluster => {
    events.push('opened')
    return {
      name: backend.name,
      isHealthy: false,
      active: 3,
      choose: () => 'overloaded',
      close: () => events.push('closed'),
      counts: () => ({ open: 1, idle: 0, waiting: 0, healthy: 1, unhealthy: 1, ejected: 0 }),
    }
  }
  const cluster = new ServedCluster(backend, policies, open, () => events.push('forgotten'))
  return { cluster, events }
}

describe('clusters of a running gateway', () => {
  it('are opened once, by the first request, if no policy applies', () => {
    const { cluster, events } = served(HOSTS)
    assert.deepEqual([cluster.isHealthy, cluster.active, events], [true, 0, []])
    assert.equal(cluster.counts().healthy, 2)
    assert.equal(cluster.choose(undefined, []), 'overloaded')
    assert.equal(cluster.choose(undefined, []), 'overloaded')
    assert.deepEqual(events, ['opened'])
    assert.deepEqual([cluster.isHealthy, cluster.active, cluster.counts().healthy], [false, 3, 1])
    cluster.close()
    assert.deepEqual(events, ['opened', 'closed', 'forgotten'])
  })

  for (const [what, backend, policies] of [
    ['a policy is about it', HOSTS, [CHECK]],
    ['it has a policy', { ...HOSTS, policies: [CHECK] }, []],
    ['its endpoints come with requests', { ...rest, kind: 'dynamic' }, []],
  ] as const) {
    it(`is open from the start if ${what}`, () => {
      assert.deepEqual(served(backend, policies).events, ['opened'])
    })
  }

  it('are not healthy without an endpoint', () => {
    assert.equal(served({ ...HOSTS, endpoints: [] }).cluster.isHealthy, false)
  })

  it('leave nothing open for a request after close', () => {
    const { cluster, events } = served(HOSTS)
    cluster.close()
    assert.deepEqual(events, ['forgotten'])
    cluster.choose(undefined, [])
    assert.deepEqual(events, ['forgotten', 'opened', 'closed'])
  })
})
