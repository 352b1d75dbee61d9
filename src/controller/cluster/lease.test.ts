import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubeClient } from './client.ts'
import { LeaderElection } from './lease.ts'

/** One Lease, which can be written only by clients that have read its newest version. */
class FakeLease implements KubeClient {
  lease: { metadata: { resourceVersion: string }; spec: Record<string, unknown> } | undefined
  isAway = false
  #version = 0

  async request(method: string, _path: string, options: { readonly body?: unknown } = {}) {
    if (this.isAway) throw new Error('connection refused')
    if (method === 'GET') {
      return this.lease === undefined
        ? { status: 404, body: {} }
        : { status: 200, body: structuredClone(this.lease) }
    }
    const written = options.body as NonNullable<FakeLease['lease']>
    const isNew = method === 'POST'
    if (isNew && this.lease !== undefined) return { status: 409, body: {} }
    const known = this.lease?.metadata.resourceVersion
    if (!isNew && written.metadata.resourceVersion !== known) return { status: 409, body: {} }
    this.lease = { metadata: { resourceVersion: String(++this.#version) }, spec: written.spec }
    return { status: 200, body: this.lease }
  }

  watch(): Promise<void> {
    return Promise.reject(new Error('nobody watches leases'))
  }
}

describe('leader election', () => {
  const open = (client: KubeClient, identity: string, duration = 0.2) => {
    const changes: boolean[] = []
    const election = new LeaderElection({
      client,
      namespace: 'a',
      name: 'b',
      identity,
      duration,
      onChange: (isLeader) => changes.push(isLeader),
    })
    return { election, changes }
  }
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  it('elects one of several replicas', async () => {
    const api = new FakeLease()
    const all = ['a', 'b', 'c'].map((identity) => open(api, identity, 5).election)
    for (const one of all) one.start()
    await until(() => all.some(({ isLeader }) => isLeader))
    assert.equal(all.filter(({ isLeader }) => isLeader).length, 1)
    await Promise.all(all.map((one) => one.stop()))
  })

  it('releases the lease when it stops, and another replica acquires it', async () => {
    const api = new FakeLease()
    const [first, second] = [open(api, 'a').election, open(api, 'b').election]
    first.start()
    await until(() => first.isLeader)
    second.start()
    await first.stop()
    assert.equal(api.lease?.spec['holderIdentity'], '')
    await until(() => second.isLeader)
    assert.equal(api.lease?.spec['leaseTransitions'], 1)
    await second.stop()
  })

  it('acquires a lease that is no longer renewed', async () => {
    const api = new FakeLease()
    api.lease = {
      metadata: { resourceVersion: '1' },
      spec: { holderIdentity: 'gone', leaseDurationSeconds: 0.05 },
    }
    const { election } = open(api, 'a')
    election.start()
    await until(() => election.isLeader)
    await election.stop()
  })

  it('stops leading when it cannot renew', async () => {
    const api = new FakeLease()
    const { election, changes } = open(api, 'a')
    election.start()
    await until(() => election.isLeader)
    api.isAway = true
    await until(() => !election.isLeader)
    assert.deepEqual(changes, [true, false])
    await election.stop()
  })
})
