import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubeObject } from './object.ts'
import { objectsOf, SnapshotStore } from './snapshot.ts'

const object = (kind: string, namespace: string | undefined, name: string, version = '1') => {
  const metadata = { name, uid: name, resourceVersion: version }
  const whole = namespace === undefined ? metadata : { ...metadata, namespace }
  return { apiVersion: 'v1', kind, metadata: whole } as KubeObject
}

describe('the objects of one namespace', () => {
  it('are replaced without those of others', () => {
    const store = new SnapshotStore()
    const keys = (kind: string) => [...objectsOf(store.take(), kind).keys()].sort()
    store.replace('Secret', [object('Secret', 'a', 'x'), object('Secret', 'a', 'y')], 'a')
    store.replace('Secret', [object('Secret', 'b', 'x')], 'b')
    assert.deepEqual(keys('Secret'), ['a/x', 'a/y', 'b/x'])
    assert.equal(store.replace('Secret', [object('Secret', 'b', 'x')], 'b'), false)
    assert.equal(store.replace('Secret', [object('Secret', 'a', 'y')], 'a'), true)
    assert.deepEqual(keys('Secret'), ['a/y', 'b/x'])
    assert.equal(store.replace('Secret', [], 'b'), true)
    assert.deepEqual(keys('Secret'), ['a/y'])
  })

  it('are the namespace itself, for namespaces', () => {
    const store = new SnapshotStore()
    const keys = () => [...objectsOf(store.take(), 'Namespace').keys()].sort()
    for (const name of ['a', 'b'])
      store.replace('Namespace', [object('Namespace', undefined, name)], name)
    assert.deepEqual(keys(), ['a', 'b'])
    store.replace('Namespace', [], 'a')
    assert.deepEqual(keys(), ['b'])
  })
})
