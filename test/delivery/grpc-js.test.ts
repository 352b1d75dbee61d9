// A peer with another gRPC library and another protobuf library that shares no code with ours.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ChannelCredentials, Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js'
import protobufjs from 'protobufjs'
import { routesOf, startServer } from '../../src/xds/fixtures/delivery.ts'

const PROTO = join(import.meta.dirname, '../../proto')
const root = new protobufjs.Root()
root.resolvePath = (_, target) =>
  target.startsWith('google/protobuf/') ? target : join(PROTO, target)
root.loadSync('envoy/service/discovery/v3/ads.proto')
root.loadSync('portcullis/xds/v1/part.proto')
const Request = root.lookupType('envoy.service.discovery.v3.DeltaDiscoveryRequest')
const Response = root.lookupType('envoy.service.discovery.v3.DeltaDiscoveryResponse')
const Part = root.lookupType('portcullis.xds.v1.Part')
const TYPE = 'type.googleapis.com/portcullis.xds.v1.Part'

interface Received {
  readonly nonce: string
  readonly systemVersionInfo: string
  readonly typeUrl: string
  readonly removedResources: readonly string[]
  readonly resources: readonly {
    readonly name: string
    readonly version: string
    readonly resource: { readonly type_url: string; readonly value: Uint8Array }
  }[]
}

describe('a proxy of grpc-js and protobufjs', () => {
  let started: Awaited<ReturnType<typeof startServer>>
  let client: Client

  before(async () => {
    started = await startServer()
    client = new Client(`127.0.0.1:${started.server.port}`, ChannelCredentials.createInsecure())
  })
  after(async () => {
    client.close()
    await started.server.close()
  })

  function open(token: string) {
    const metadata = new Metadata()
    metadata.set('authorization', `Bearer ${token}`)
    const stream: ClientDuplexStream<object, Received> = client.makeBidiStreamRequest(
      '/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources',
      (message: object) => Buffer.from(Request.encode(Request.create(message)).finish()),
      (bytes: Buffer) => Response.decode(bytes) as unknown as Received,
      metadata,
    )
    const next = () =>
      new Promise<Received>((resolve, reject) => {
        stream.once('data', resolve)
        stream.once('error', reject)
      })
    return { stream, next }
  }

  it('receives its resources, and then only what changed', async () => {
    started.publications.publish('a', routesOf('one', 'two'))
    const { stream, next } = open('token-of-a')
    stream.write({ node: { id: 'peer' }, typeUrl: TYPE, resourceNamesSubscribe: ['*'] })
    const first = await next()
    assert.deepEqual(
      first.resources.map(({ name }) => name),
      ['routes/one', 'routes/two', 'frontend'],
    )
    assert.ok(first.systemVersionInfo !== '' && first.nonce !== '')
    const [one] = first.resources
    assert.equal(one?.resource.type_url, TYPE)
    const part = Part.decode(one?.resource.value as Uint8Array) as unknown as {
      readonly section: string
      readonly json: Buffer
    }
    assert.equal(part.section, 'routes')
    assert.equal(JSON.parse(part.json.toString()).name, 'one')
    stream.write({ typeUrl: TYPE, responseNonce: first.nonce })
    const second = next()
    started.publications.publish('a', routesOf('one'))
    const { removedResources, resources, nonce } = await second
    assert.deepEqual([removedResources, resources.length], [['routes/two'], 0])
    stream.write({ typeUrl: TYPE, responseNonce: nonce, errorDetail: { code: 3, message: 'no' } })
    const third = next()
    started.publications.publish('a', routesOf('one', 'three'))
    assert.equal((await third).resources[0]?.name, 'routes/three')
    const [proxy] = started.publications.proxies('a')
    assert.equal(proxy?.node, 'peer')
    assert.equal(proxy?.outcome?.rejections[0]?.diagnostics[0]?.message, 'no')
    stream.cancel()
    stream.on('error', () => {})
  })

  it('reconnects with the versions it has, and receives the difference', async () => {
    started.publications.publish('b', routesOf('one', 'two'))
    const first = open('token-of-b')
    first.stream.write({ typeUrl: TYPE })
    const { resources } = await first.next()
    first.stream.on('error', () => {})
    first.stream.cancel()
    const versions = resources.map(({ name, version }) => [name, version])
    const second = open('token-of-b')
    const initialResourceVersions = { ...Object.fromEntries(versions), 'routes/old': '1' }
    second.stream.write({ typeUrl: TYPE, initialResourceVersions })
    const response = await second.next()
    assert.deepEqual(response.resources, [])
    assert.deepEqual(response.removedResources, ['routes/old'])
    second.stream.on('error', () => {})
    second.stream.cancel()
  })

  for (const [what, token, message, code] of [
    ['a token that is not valid', 'x', { typeUrl: TYPE }, 16],
    ['a token of no Gateway', 'token-of-c', { typeUrl: TYPE }, 7],
    ['a type that there is not', 'token-of-a', { typeUrl: 'x' }, 3],
  ] as const) {
    it(`with ${what} is told status ${code}`, async () => {
      const { stream, next } = open(token)
      stream.write(message)
      await assert.rejects(next(), { code })
    })
  }
})
