import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubeClient, KubeRequest } from '../cluster/client.ts'
import type { KubeObject } from '../cluster/object.ts'
import { SnapshotStore } from '../cluster/snapshot.ts'
import type { ProxyState } from '../delivery.ts'
import { SharedProxies } from './shared-proxies.ts'

const CONTROLLER = 'portcullis.dev/controller'
const GATEWAY = 'apps/edge'
const SEQUENCES: Readonly<Record<string, number>> = { old: 1, new: 2 }
const sequenceOf = (version: string) => SEQUENCES[version] ?? 0

const proxy = (node: string, version?: string): ProxyState => ({
  node,
  outcome: version === undefined ? undefined : { version, rejections: [] },
})

/** A cluster that contains only ConfigMaps. */
function cluster() {
  const store = new SnapshotStore()
  const written: string[] = []
  const put = (object: KubeObject) => store.put('ConfigMap', object)
  const request: KubeClient['request'] = async (_method, path, { body }: KubeRequest = {}) => {
    written.push(path)
    put(body as KubeObject)
    return { status: 200, body: {} }
  }
  const replica = (identity: string, over: { controllerName?: string; namespace?: string } = {}) =>
    new SharedProxies({
      client: { request } as KubeClient,
      controllerName: CONTROLLER,
      namespace: 'system',
      identity,
      uid: `uid-of-${identity}`,
      ...over,
    })
  const publish = (from: SharedProxies, ...states: readonly ProxyState[]) =>
    from.publish(store.take(), [GATEWAY], () => states)
  const seenBy = (leader: SharedProxies, ...here: readonly ProxyState[]) => {
    leader.look(store.take())
    return leader.of(GATEWAY, here, sequenceOf).map(({ node, outcome }) => [node, outcome?.version])
  }
  return { replica, publish, seenBy, put, written, store }
}

describe('SharedProxies', () => {
  it('merges the proxies of all replicas, each once', async () => {
    const { replica, publish, seenBy } = cluster()
    const [leader, b, c] = [replica('a'), replica('b'), replica('c')]
    await publish(b, proxy('p2', 'new'), proxy('p3'))
    await publish(c, proxy('p4', 'old'))
    assert.deepEqual(seenBy(leader, proxy('p1', 'new')), [
      ['p1', 'new'],
      ['p2', 'new'],
      ['p3', undefined],
      ['p4', 'old'],
    ])
    // p4 moved from c, which died, to b; and p2 from b to the leader.
    await publish(b, proxy('p3', 'new'), proxy('p4', 'new'))
    assert.deepEqual(seenBy(leader, proxy('p1', 'new'), proxy('p2', 'old')), [
      ['p1', 'new'],
      ['p2', 'old'],
      ['p3', 'new'],
      ['p4', 'new'],
    ])
  })

  it('writes nothing when idle, and removes what is gone', async () => {
    const { replica, publish, seenBy, written } = cluster()
    const [leader, b] = [replica('a'), replica('b')]
    await publish(b)
    assert.deepEqual(written, [])
    await publish(b, proxy('p1', 'new'))
    await publish(b, proxy('p1', 'new'))
    assert.equal(written.length, 1)
    assert.match(written[0] ?? '', /^\/api\/v1\/namespaces\/system\/configmaps\/b-proxies\?/)
    await publish(b)
    assert.deepEqual(seenBy(leader), [])
    // A new process in the same pod does not know what the previous one wrote.
    await publish(b, proxy('p1', 'new'))
    const restarted = replica('b')
    await publish(restarted)
    assert.deepEqual(seenBy(leader), [])
  })

  it('transports what proxies reject', async () => {
    const { replica, publish, store } = cluster()
    const [leader, b] = [replica('a'), replica('b')]
    const origin = { kind: 'object', object: 'ProxyPolicy apps/bad', field: 'spec' } as const
    const wrong = { code: 'PC0107', severity: 'error', message: 'wrong', origin } as const
    const outcome = { version: 'new', rejections: [{ diagnostics: [wrong] }] }
    await publish(b, { node: 'p1', outcome })
    leader.look(store.take())
    assert.deepEqual(leader.of(GATEWAY, [], sequenceOf), [{ node: 'p1', outcome }])
  })

  it('ignores foreign, misplaced and malformed reports', async () => {
    const { replica, publish, seenBy, put } = cluster()
    const leader = replica('a')
    await publish(replica('b', { namespace: 'apps' }), proxy('p1', 'new'))
    await publish(replica('c', { controllerName: 'example.com/other' }), proxy('p2', 'new'))
    await publish(leader, proxy('p3', 'new'))
    const labels = { 'portcullis.dev/proxies-of': 'x' }
    for (const [name, text] of [
      ['x', '{'],
      ['y', JSON.stringify({ controller: CONTROLLER, gateways: { [GATEWAY]: [{ node: 1 }] } })],
    ] as const) {
      const metadata = { name, namespace: 'system', labels }
      put({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'proxies.json': text } })
    }
    assert.deepEqual(seenBy(leader), [])
  })
})
