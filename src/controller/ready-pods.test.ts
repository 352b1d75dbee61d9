import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SnapshotStore } from './cluster/snapshot.ts'
import { ReadyPods } from './ready-pods.ts'

const pod = (name: string, conditions: object = { ready: true }) => ({
  addresses: ['192.0.2.1'],
  targetRef: { kind: 'Pod', name, namespace: 'apps' },
  conditions,
})

function slice(name: string, service: string | undefined, ...endpoints: readonly object[]) {
  const labels = service === undefined ? {} : { 'kubernetes.io/service-name': service }
  const metadata = { name, namespace: 'apps', labels }
  return { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata, endpoints }
}

describe('the pods that get traffic', () => {
  const store = new SnapshotStore()
  const pods = new ReadyPods()
  const put = (object: ReturnType<typeof slice>) => store.put('EndpointSlice', object)
  const of = (service: string) => {
    pods.look(store.take())
    return pods.of(`apps/${service}`)
  }

  it('are the ready endpoints of all slices of a Service, each once', () => {
    put(slice('edge-4', 'edge', pod('b'), pod('a'), pod('c', { ready: false, serving: true })))
    put(slice('edge-6', 'edge', pod('a'), pod('d', {})))
    put(slice('other-1', 'other', pod('x')))
    put(slice('none', undefined, pod('y')))
    assert.deepEqual(of('edge'), ['a', 'b', 'd'])
    assert.deepEqual(of('missing'), [])
  })

  it('follow every change of a slice', () => {
    put(slice('edge-4', 'edge', pod('b', { ready: false })))
    assert.deepEqual(of('edge'), ['a', 'd'])
    put(slice('edge-6', 'other', pod('a')))
    assert.deepEqual(of('edge'), [])
    assert.deepEqual(of('other'), ['a', 'x'])
    store.remove('EndpointSlice', slice('other-1', 'other'))
    assert.deepEqual(of('other'), ['a'])
  })

  it('include endpoints that are no pods, by their address', () => {
    put(slice('manual', 'manual', { addresses: ['192.0.2.9'] }))
    assert.deepEqual(of('manual'), ['192.0.2.9'])
  })
})
