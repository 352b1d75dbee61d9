// Both halves of the protocol without a transport: messages are lost only when a connection is.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fuzz } from '../../test/fuzz/runs.ts'
import { Random } from '../../test/truth/random.ts'
import type { Model } from '../model/model.ts'
import { DeltaStream, type Outcome, ProtocolError } from './delta-stream.ts'
import {
  acknowledgement,
  type DeltaDiscoveryRequest,
  type DeltaDiscoveryResponse,
  requestOf,
  TYPE_URL,
} from './protocol.ts'
import { Replica } from './replica.ts'
import { type Snapshot, snapshotOf } from './snapshot.ts'

const origin = { kind: 'object', object: 'x', field: '' } as const
const EMPTY: Model = {
  gateways: [],
  routes: [],
  tcpRoutes: [],
  backends: [],
  frontend: [],
}
const backend = (name: string, path: string) =>
  ({ kind: 'unix', name, path, origin, policies: [] }) as const
const route = (name: string, hostname: string) => ({
  ...{ name, origin, parents: [], rules: [], policies: [] },
  hostnames: [hostname],
})

/** One change as a user makes it: something is added, removed, moved or edited. */
function edit(random: Random, model: Model): Model {
  const text = `${random.int(1e6)}`
  const routes = [...model.routes]
  const at = random.int(routes.length + 1)
  const old = routes[at]
  switch (random.int(6)) {
    case 0:
      return { ...model, routes: routes.toSpliced(at, 0, route(`r${text}`, text)) }
    case 1:
      return { ...model, routes: routes.toSpliced(at, 1) }
    case 2:
      return old ? { ...model, routes: routes.with(at, route(old.name, text)) } : model
    case 3:
      return { ...model, routes: routes.toSorted(() => random.next() - 0.5) }
    case 4:
      return { ...model, backends: [...model.backends.slice(-9), backend(`b${text}`, text)] }
    default:
      return random.chance(0.5)
        ? { ...model, llm: { origin, value: { text }, policies: [] } }
        : (({ llm: _, ...rest }) => rest)(model)
  }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** A connection between a controller replica and a proxy, with the messages in flight. */
interface Connection {
  readonly stream: DeltaStream
  readonly server: { snapshot: Snapshot }
  readonly down: DeltaDiscoveryResponse[]
  readonly up: DeltaDiscoveryRequest[]
}

describe('server and client of delta delivery', () => {
  const { numRuns, seed } = fuzz(1.5)

  it('converge to the same Model after any edits, losses and reconnects', () => {
    const seen = { messages: 0, reconnects: 0, resent: 0, partial: 0 }
    for (let run = 0; run < numRuns; run++) {
      const random = new Random(seed + run)
      let model = EMPTY
      for (let count = random.int(30); count > 0; count--) model = edit(random, model)
      // Two replicas of the controller, one of which may lag behind.
      const first = { snapshot: snapshotOf(model) }
      const servers = [first, { snapshot: first.snapshot }]
      const replica = new Replica()
      let served: unknown
      let outcome: Outcome | undefined
      let connection: Connection | undefined
      const connect = (server = random.pick(servers)): Connection => {
        seen.reconnects++
        const stream = new DeltaStream(1 + random.int(400))
        return { stream, server, down: [], up: [replica.begin('p')] }
      }
      const step = (what: number) => {
        connection ??= connect()
        const { stream, server, down, up } = connection
        if (what === 0) {
          const request = up.shift()
          if (request !== undefined) outcome = stream.receive(request) ?? outcome
        } else if (what === 1) {
          const response = stream.next(server.snapshot)
          if (response !== undefined) down.push(response)
        } else {
          const response = down.shift()
          if (response === undefined) return
          seen.messages++
          const received = replica.receive(response)
          if (received.kind === 'incomplete') seen.partial++
          if (received.kind === 'model') served = received.model
          assert.notEqual(received.kind, 'out-of-step', `seed ${seed + run}`)
          assert.notEqual(received.kind, 'rejected')
          up.push(acknowledgement(response.nonce, []))
        }
      }
      for (let count = 60 + random.int(60); count > 0; count--) {
        const dice = random.int(20)
        if (dice === 0) {
          model = edit(random, model)
          for (const server of servers) {
            if (random.chance(0.6)) server.snapshot = snapshotOf(model, server.snapshot)
          }
        } else if (dice === 1 && random.chance(0.5)) connection = undefined
        else step(random.int(3))
      }
      for (const server of servers) server.snapshot = snapshotOf(model, server.snapshot)
      for (let count = 0; count < 400; count++) step(count % 3)
      assert.deepEqual(served, plain(model), `seed ${seed + run}`)
      assert.deepEqual(outcome, { version: first.snapshot.version, rejections: [] })
      // A proxy that has everything is sent nothing again, by either replica.
      connection = connect(servers[1])
      for (let count = 0; count < 3; count++) {
        step(0)
        step(1)
        for (const { resources } of connection.down) seen.resent += resources.length
        step(2)
      }
    }
    assert.equal(seen.resent, 0)
    assert.ok(seen.partial > 0 && seen.messages > numRuns && seen.reconnects > 2 * numRuns)
  })
})

/** A stream after its first request, and its first response. */
function begun(model: Model, replica = new Replica()) {
  const stream = new DeltaStream()
  const snapshot = snapshotOf(model)
  stream.receive(replica.begin('p'))
  const response = stream.next(snapshot) as DeltaDiscoveryResponse
  return { stream, snapshot, response, replica }
}

const THREE = { ...EMPTY, routes: ['a', 'b', 'c'].map((name) => route(name, name)) }

describe('the server side', () => {
  it('sends nothing before a request, and nothing without a configuration', () => {
    const stream = new DeltaStream()
    assert.equal(stream.next(snapshotOf(THREE)), undefined)
    stream.receive(new Replica().begin('pod-1'))
    assert.equal(stream.node, 'pod-1')
    assert.equal(stream.next(undefined), undefined)
    assert.equal(stream.next(snapshotOf(THREE))?.resources.length, 4)
  })

  it('sends only what changed, and waits for the proxy before the next difference', () => {
    const { stream, snapshot, response } = begun(THREE)
    const second = snapshotOf({ ...THREE, routes: THREE.routes.toSpliced(2, 1) }, snapshot)
    assert.equal(stream.next(second), undefined)
    stream.receive(acknowledgement('0', []))
    assert.equal(stream.next(second), undefined, 'a nonce of another response')
    assert.deepEqual(stream.receive(acknowledgement(response.nonce, [])), {
      version: snapshot.version,
      rejections: [],
    })
    const next = stream.next(second)
    assert.deepEqual(next?.removedResources, ['routes/c'])
    assert.deepEqual(next?.resources, [])
    assert.equal(stream.next(second), undefined)
  })

  it('sends nothing for another snapshot with the same content', () => {
    const { stream, snapshot, response } = begun(THREE)
    const same = snapshotOf({ ...THREE, routes: [...THREE.routes] })
    assert.notEqual(same, snapshot)
    assert.equal(same.version, snapshot.version)
    stream.receive(acknowledgement(response.nonce, []))
    assert.equal(stream.next(same), undefined)
    const next = stream.next(snapshotOf({ ...THREE, routes: THREE.routes.slice(1) }, same))
    assert.deepEqual(next?.removedResources, ['routes/a'])
  })

  it('skips intermediate changes while the proxy is busy', () => {
    const { stream, snapshot, response } = begun(THREE)
    let latest = snapshot
    for (let count = 0; count < 1_000; count++) {
      const routes = THREE.routes.with(1, route('b', `${count}`))
      latest = snapshotOf({ ...THREE, routes }, latest)
      assert.equal(stream.next(latest), undefined)
    }
    stream.receive(acknowledgement(response.nonce, []))
    assert.deepEqual(
      stream.next(latest)?.resources.map(({ name }) => name),
      ['routes/b'],
    )
    assert.equal(stream.next(latest), undefined)
  })

  it('reports rejections by resource with their diagnostics', () => {
    const { stream, snapshot, response } = begun(THREE)
    const diagnostics = [
      { code: 'PC0107', severity: 'error', message: 'no such field', origin },
    ] as const
    const rejections = [{ resource: 'routes/b', version: '1', diagnostics }]
    const request = acknowledgement(response.nonce, rejections)
    assert.match(request.errorDetail?.message ?? '', /routes\/b: PC0107: no such field/)
    assert.deepEqual(stream.receive(request), { version: snapshot.version, rejections })
    assert.equal(stream.next(snapshot), undefined, 'what was rejected is not sent again')
  })

  it('accepts the message of a peer that names no resources', () => {
    const { stream, response } = begun(THREE)
    const outcome = stream.receive(
      requestOf({
        typeUrl: TYPE_URL,
        responseNonce: response.nonce,
        errorDetail: { code: 3, message: 'no thanks' },
      }),
    )
    assert.equal(outcome?.rejections[0]?.diagnostics[0]?.message, 'no thanks')
  })

  for (const [what, typeUrl, subscribe, unsubscribe] of [
    ['another type', 'type.googleapis.com/envoy.config.cluster.v3.Cluster', [], []],
    ['names', TYPE_URL, ['routes/a'], []],
    ['less than everything', TYPE_URL, [], ['*']],
  ] as const) {
    it(`rejects a subscription to ${what}`, () => {
      const request = requestOf({
        typeUrl,
        resourceNamesSubscribe: [...subscribe],
        resourceNamesUnsubscribe: [...unsubscribe],
      })
      assert.throws(() => new DeltaStream().receive(request), ProtocolError)
    })
  }
})

describe('the client side', () => {
  it('has no Model until all of it has arrived', () => {
    const replica = new Replica()
    const stream = new DeltaStream(1)
    stream.receive(replica.begin('p'))
    const kinds: string[] = []
    for (let count = 0; count < 4; count++) {
      kinds.push(replica.receive(stream.next(snapshotOf(THREE)) as DeltaDiscoveryResponse).kind)
    }
    assert.deepEqual(kinds, ['incomplete', 'incomplete', 'incomplete', 'model'])
  })

  it('detects that its state differs from that of the controller', () => {
    // The last route: the others form a Model without it.
    const { response, replica } = begun(THREE)
    response.resources = response.resources.filter(({ name }) => name !== 'routes/c')
    assert.equal(replica.receive(response).kind, 'out-of-step')
  })

  it('rejects a resource that it cannot decode by name, and recovers its Model afterwards', () => {
    const { response, replica, stream, snapshot } = begun(THREE)
    const [broken] = response.resources.filter(({ name }) => name === 'routes/b')
    assert.ok(broken?.resource)
    broken.resource.value = Buffer.from('\x0a\x06newest\x1a\x02{}', 'latin1')
    const received = replica.receive(response)
    assert.ok(received.kind === 'rejected')
    assert.deepEqual(
      received.rejections.map(({ resource }) => resource),
      ['routes/b'],
    )
    stream.receive(acknowledgement(response.nonce, received.rejections))
    const fixed = snapshotOf({ ...THREE, routes: THREE.routes.toSpliced(1, 1) }, snapshot)
    const next = replica.receive(stream.next(fixed) as DeltaDiscoveryResponse)
    assert.ok(next.kind === 'model')
    assert.deepEqual(
      next.model.routes.map(({ name }) => name),
      ['a', 'c'],
    )
  })

  it('is restored from exactly what it held', () => {
    const { response, replica, snapshot } = begun(THREE)
    const received = replica.receive(response)
    assert.ok(received.kind === 'model')
    const { version } = snapshot
    const { parts } = received
    const other = new Replica()
    assert.deepEqual(other.restore({ version, parts })?.model, plain(THREE))
    const known = other.begin('p').initialResourceVersions
    assert.deepEqual(known, { ...replica.begin('p').initialResourceVersions })
    assert.equal(other.restore({ version, parts: parts.slice(1) }), undefined)
    assert.deepEqual(other.begin('p').initialResourceVersions, {})
  })
})
