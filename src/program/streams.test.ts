import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { modelOf, policies, TestServices } from '../../test/program/models.ts'
import { Connection } from '../exchange/connection.ts'
import { destinationOf, sourceOf } from '../exchange/peer.ts'
import type { Listener } from '../model/gateway.ts'
import type { Attached } from '../model/policy.ts'
import type { ListenerProgram } from './program.ts'
import { Streams } from './streams.ts'

const ORIGIN = { kind: 'object', object: 'test', field: '' } as const

interface Written {
  readonly hostname?: string
  readonly hostnames?: readonly string[]
  readonly route?: readonly Attached[]
  readonly ref?: readonly Attached[]
}

/** The destination of a connection with server name `a.example.com`, and its cluster's policies. */
function chosen({ hostname = '*', hostnames = [], route = [], ref = [] }: Written) {
  const passed = { protocol: 'TLS', hostname, tls: { mode: 'Passthrough' } } as Partial<Listener>
  const backends = [{ backend: 'up', weight: 1, policies: ref }]
  const model = modelOf({ listeners: [passed] })
  const stream = {
    name: 'bytes',
    origin: ORIGIN,
    parents: [{ gateway: 'default' }],
    hostnames,
    policies: route,
    action: { kind: 'forward', backends },
  } as const
  const services = new TestServices()
  const streams = new Streams({ ...model, tcpRoutes: [stream] }, services, undefined)
  const [from, to] = [sourceOf('127.0.0.1', 1), destinationOf('127.0.0.1', 2, undefined)]
  assert.ok(from !== undefined && to !== undefined)
  const listener = { gateway: 'default', listener: model.gateways[0]?.listeners[0] }
  const connection = new Connection(from, to, true, 'a.example.com', 0)
  const found = streams.choose(listener as unknown as ListenerProgram, connection, [])
  return { found, opened: services.reached }
}

describe('routes of connections', () => {
  it('are found on a listener that serves every name', () => {
    // The cluster of these tests has no endpoint; the outcome shows that it was queried.
    assert.equal(chosen({ hostnames: ['a.example.com'] }).found, 'no-endpoint')
    assert.equal(chosen({ hostnames: ['b.example.com'] }).found, 'no-route')
    assert.equal(
      chosen({ hostname: 'b.example.com', hostnames: ['a.example.com'] }).found,
      'no-route',
    )
  })

  it('use the most specific policy of a backend', () => {
    const limit = (maxConnections: number) =>
      policies({ connectionLimits: { maxConnections } }, 'backend', 'backend')
    const [opened] = chosen({ route: limit(1), ref: limit(2) }).opened
    assert.partialDeepStrictEqual(opened, { connectionLimits: { maxConnections: 2 } })
  })

  it('fail closed with a policy that does not apply to connections or is invalid', () => {
    const rules = policies({ authorization: { rules: [{ allow: 'true' }] } }, 'route', 'traffic')
    const broken = policies({ http: null }, 'backend', 'backend')
    assert.equal(chosen({ route: rules }).found, 'invalid-policy')
    assert.equal(chosen({ ref: broken }).found, 'invalid-policy')
  })
})
