import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Model } from '../model/model.ts'
import { bindSecret, type SecretRef, secretText } from '../model/secret.ts'
import { DeltaStream } from './delta-stream.ts'
import { acknowledgement, type DeltaDiscoveryResponse, responseOf, TYPE_URL } from './protocol.ts'
import { Replica } from './replica.ts'
import { type Snapshot, snapshotOf } from './snapshot.ts'

const origin = { kind: 'object', object: 'x', field: '' } as const

/** A backend as written: its path, and the version of its secret, if it has one. */
interface Written {
  readonly name: string
  readonly path: string
  readonly secret: string | undefined
}

function modelOf(backends: readonly Written[]): Model {
  const list = backends.map(({ name, path, secret }) => {
    const ref = { secretRef: 'Secret a/b', version: secret ?? '' }
    const key = secret === undefined ? {} : { key: bindSecret(ref, `text of ${secret}`) }
    return { kind: 'unix', name, path, origin, policies: [], ...key }
  })
  return {
    ...{ gateways: [], routes: [], tcpRoutes: [], frontend: [] },
    backends: list as unknown as Model['backends'],
  }
}

/** What a proxy sees of it: content, and the secrets by which it can be used. */
function seen({ backends }: Model): unknown {
  return backends.map((backend) => {
    const { name, path, key } = backend as unknown as Written & { key?: SecretRef }
    return [name, path, key && secretText(key)]
  })
}

const backend = (name: string): fc.Arbitrary<Written> =>
  fc.record({
    name: fc.constant(name),
    path: fc.constantFrom('/a', '/b'),
    secret: fc.constantFrom(undefined, 'v1', 'v2', 'v3'),
  })
const model = fc
  .tuple(...['a', 'b', 'c', 'd'].map(backend))
  .chain((all) => fc.shuffledSubarray(all, { minLength: 1 }))

describe('a proxy that follows a controller', () => {
  it('has each Model as it was sent, with its secrets and no others', () => {
    const counts = { inPlace: 0 }
    fc.assert(
      fc.property(fc.array(model, { minLength: 2, maxLength: 8 }), fc.nat(400), (models, max) => {
        const stream = new DeltaStream(1 + max)
        const replica = new Replica()
        stream.receive(replica.begin('pod'))
        let snapshot: Snapshot | undefined
        for (const written of models) {
          const before = snapshot
          const expected = modelOf(written)
          snapshot = snapshotOf(expected, before)
          if (snapshot.version === before?.version) continue
          for (;;) {
            const response = stream.next(snapshot) as DeltaDiscoveryResponse
            const received = replica.receive(structuredClone(response))
            stream.receive(acknowledgement(response.nonce, []))
            if (received.kind === 'incomplete') continue
            assert.ok(received.kind === 'model', received.kind)
            assert.deepEqual(seen(received.model), seen(expected))
            assert.equal(received.version, snapshot.version)
            if (response.removedResources.length === 0) counts.inPlace++
            const other = new Replica()
            const { version, parts } = received
            assert.deepEqual(
              seen(other.restore({ version, parts })?.model as Model),
              seen(expected),
            )
            break
          }
        }
      }),
      { numRuns: 150, seed: 26 },
    )
    assert.ok(counts.inPlace > 50)
  })

  it('has no Model if a secret is missing, whether it is the first one or a change', () => {
    const without = (response: DeltaDiscoveryResponse) => {
      response.resources = response.resources.filter(({ name }) => !name.startsWith('secrets/'))
      return response
    }
    const [plain, secret] = [undefined, 'v1'].map((own) =>
      modelOf([{ name: 'a', path: '/a', secret: own }]),
    ) as [Model, Model]
    for (const first of [secret, plain]) {
      const replica = new Replica()
      const stream = new DeltaStream()
      stream.receive(replica.begin('pod'))
      const snapshot = snapshotOf(first)
      const response = stream.next(snapshot) as DeltaDiscoveryResponse
      if (first === plain) {
        assert.equal(replica.receive(response).kind, 'model')
        stream.receive(acknowledgement(response.nonce, []))
        const change = stream.next(snapshotOf(secret, snapshot)) as DeltaDiscoveryResponse
        assert.equal(replica.receive(without(change)).kind, 'out-of-step')
      } else assert.equal(replica.receive(without(response)).kind, 'out-of-step')
    }
  })

  for (const [sentence, change, expected] of [
    ['messages of another type', { typeUrl: 'type.googleapis.com/x' }, /unknown type/],
    ['a version that its resources do not have', { systemVersionInfo: 'v' }, /not v$/],
  ] as const) {
    it(`is out of step after ${sentence}`, () => {
      const replica = new Replica()
      const stream = new DeltaStream()
      stream.receive(replica.begin('pod'))
      const snapshot = snapshotOf(modelOf([{ name: 'a', path: '/a', secret: 'v1' }]))
      const response = stream.next(snapshot) as DeltaDiscoveryResponse
      const received = replica.receive(responseOf({ ...response, ...change } as never))
      assert.ok(received.kind === 'out-of-step')
      assert.match(received.reason, expected)
      replica.clear()
      assert.deepEqual(replica.begin('pod').initialResourceVersions, {})
    })
  }

  it('rejects resources of another type by name, until they are removed', () => {
    const replica = new Replica()
    const stream = new DeltaStream()
    stream.receive(replica.begin('pod'))
    const first = snapshotOf(
      modelOf(['a', 'b'].map((name) => ({ name, path: '/', secret: undefined }))),
    )
    const response = stream.next(first) as DeltaDiscoveryResponse
    for (const { name, resource } of response.resources)
      if (name === 'backends/b' && resource !== undefined) resource.typeUrl = 'other'
    const received = replica.receive(response)
    assert.ok(received.kind === 'rejected')
    assert.deepEqual(
      received.rejections.map(({ resource, diagnostics }) => [resource, diagnostics[0]?.code]),
      [['backends/b', 'PC0802']],
    )
    stream.receive(acknowledgement(response.nonce, received.rejections))
    const fixed = snapshotOf(modelOf([{ name: 'a', path: '/', secret: undefined }]), first)
    const next = replica.receive(stream.next(fixed) as DeltaDiscoveryResponse)
    assert.ok(next.kind === 'model')
    assert.equal(TYPE_URL, response.typeUrl)
  })
})
