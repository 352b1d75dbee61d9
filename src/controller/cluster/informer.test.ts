import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { FakeApi } from './fixtures/fake-api.ts'
import { Informer } from './informer.ts'
import type { ResourceKind } from './kinds.ts'
import { objectsOf, SnapshotStore } from './snapshot.ts'

const KIND: ResourceKind = {
  kind: 'Thing',
  group: 'example.com',
  versions: ['v1', 'v1beta1'],
  plural: 'things',
  isNamespaced: true,
  isOptional: true,
}

describe('an informer', () => {
  let api: FakeApi
  let store: SnapshotStore
  let informer: Informer
  let restarts: string[]

  beforeEach(() => {
    api = new FakeApi()
    store = new SnapshotStore()
    restarts = []
    informer = new Informer(KIND, {
      client: api,
      store,
      onChange: () => {},
      onRestart: (_, reason) => restarts.push(reason),
      backoff: { min: 1, max: 2 },
    })
  })
  afterEach(() => informer.stop())

  const names = () => [...objectsOf(store.take(), 'Thing').keys()].sort()
  const until = async (holds: () => boolean) => {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 1))
  }
  const isWatching = () => api.watches.length === 1

  it('has the listed objects, then follows the watch', async () => {
    api.put('a')
    informer.start()
    await until(isWatching)
    assert.deepEqual(names(), ['a'])
    const b = api.put('b')
    assert.deepEqual(names(), ['a', 'b'])
    api.watches[0]?.send({ type: 'DELETED', object: b })
    assert.deepEqual(names(), ['a'])
  })

  it('reads lists in pages', async () => {
    for (let index = 0; index < 7; index++) api.put(`t${index}`)
    api.pageSize = 3
    informer.start()
    await until(isWatching)
    assert.equal(names().length, 7)
    assert.equal(api.lists.length, 3)
  })

  it('resumes where it was when the server ends a watch', async () => {
    informer.start()
    await until(isWatching)
    const { resourceVersion } = api.put('a').metadata
    api.watches[0]?.end()
    await until(isWatching)
    assert.equal(api.watches[0]?.from, resourceVersion)
    assert.equal(api.lists.length, 1)
    assert.deepEqual(restarts, ['closed'])
  })

  it('a bookmark only moves the resume position', async () => {
    informer.start()
    await until(isWatching)
    const bookmark = { metadata: { name: '', resourceVersion: '77' } }
    api.watches[0]?.send({ type: 'BOOKMARK', object: bookmark })
    api.watches[0]?.end()
    await until(isWatching)
    assert.equal(api.watches[0]?.from, '77')
    assert.deepEqual(names(), [])
  })

  for (const how of ['event', 'response'] as const) {
    it(`lists again when the watch has expired (410 as ${how}), and loses what is gone`, async () => {
      api.put('a')
      api.put('b')
      informer.start()
      await until(isWatching)
      const before = objectsOf(store.take(), 'Thing').get('a')
      api.forget('b')
      const [watch] = api.watches
      if (how === 'event') {
        watch?.send({ type: 'ERROR', object: { code: 410 } })
        watch?.end()
      } else {
        const { KubeError } = await import('./client.ts')
        watch?.end(new KubeError(410, 'too old'))
      }
      await until(() => names().length === 1)
      assert.deepEqual(names(), ['a'])
      // Unchanged objects keep their identity, so that values derived from them stay cached.
      assert.equal(objectsOf(store.take(), 'Thing').get('a'), before)
      assert.deepEqual(restarts, ['expired'])
    })
  }

  it('keeps its objects while the server is unavailable', async () => {
    api.put('a')
    informer.start()
    await until(isWatching)
    api.isAway = true
    api.watches[0]?.end(new Error('reset'))
    await until(() => restarts.length > 3)
    assert.deepEqual(names(), ['a'])
    api.isAway = false
    api.put('b')
    await until(isWatching)
    assert.deepEqual([...new Set(restarts)], ['failed'])
  })

  it('tolerates an absent kind, and reads it once its definition appears', async () => {
    api.served = []
    informer.start()
    await until(() => informer.isSynced)
    assert.deepEqual(names(), [])
    api.served = ['v1beta1']
    api.put('a')
    informer.lookAgain()
    await until(() => names().length === 1)
    assert.equal(informer.version, 'v1beta1')
  })

  it('does not lose a signal that arrives while it lists', async () => {
    api.served = []
    const { request } = api
    let isAsked = false
    api.request = async (...args) => {
      const response = await request.apply(api, args)
      if (!isAsked) {
        isAsked = true
        api.served = ['v1']
        api.put('a')
        informer.lookAgain()
        return { status: 404, body: {} }
      }
      return isAsked && args[1].includes('/v1beta1/') && api.items.size === 1
        ? { status: 404, body: {} }
        : response
    }
    informer.start()
    await until(() => names().length === 1)
  })

  it('is not synced while a required kind is absent', async () => {
    const required = new Informer(
      { ...KIND, isOptional: false },
      {
        client: api,
        store,
        onChange: () => {},
        onRestart: (_, reason) => restarts.push(reason),
        backoff: { min: 1, max: 2 },
      },
    )
    api.served = []
    required.start()
    await until(() => restarts.length > 2)
    assert.equal(required.isSynced, false)
    required.stop()
  })

  it('treats a forbidden kind as absent, unless it could be read before', async () => {
    const { request } = api
    let isForbidden = true
    api.request = (...args) =>
      isForbidden
        ? Promise.resolve({ status: 403, body: { message: 'forbidden' } })
        : request.apply(api, args)
    const own = new Informer(
      { ...KIND, mayBeForbidden: true },
      {
        client: api,
        store,
        onChange: () => {},
        onRestart: (_, reason) => restarts.push(reason),
        backoff: { min: 1, max: 2 },
      },
    )
    own.start()
    await until(() => own.isSynced)
    assert.equal(own.version, undefined)
    isForbidden = false
    api.put('a')
    own.lookAgain()
    await until(() => names().length === 1 && isWatching())
    isForbidden = true
    api.watches[0]?.send({ type: 'ERROR', object: { code: 410 } })
    api.watches[0]?.end()
    await until(() => restarts.includes('forbidden'))
    assert.deepEqual(names(), ['a'])
    own.stop()
  })
})
