import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Model } from '../model/model.ts'
import { addedIn, patchBetween } from '../model/model-patch.ts'
import { defaultSettings } from '../sources/file/sections/config.ts'
import { DeltaStream, type Outcome } from '../xds/delta-stream.ts'
import { acknowledgement } from '../xds/protocol.ts'
import { Publications } from '../xds/publications.ts'
import { Replica } from '../xds/replica.ts'
import type { KubeClient, KubeRequest } from './cluster/client.ts'
import type { KubeObject } from './cluster/object.ts'
import { SnapshotStore } from './cluster/snapshot.ts'
import { KnownProxies } from './status/known-proxies.ts'
import { LiveStatuses } from './status/live-statuses.ts'
import { Rollouts } from './status/rollouts.ts'
import { StatusWriter } from './status/write.ts'
import { Translator } from './translate/translator.ts'

const CONTROLLER = 'portcullis.dev/controller'
const GATEWAY = 'apps/edge'
const GATEWAY_API = 'gateway.networking.k8s.io/v1'
const DEPLOYMENT = {
  addresses: [{ type: 'IPAddress', value: '192.0.2.7' }],
  missing: [],
  failures: [],
}

/** From cluster objects to a proxy and back, with all work counted. */
class CountedPlane {
  readonly #store = new SnapshotStore()
  readonly #translator = new Translator({
    controllerName: CONTROLLER,
    settings: defaultSettings(),
  })
  readonly #publications = new Publications()
  readonly #rollouts = new Rollouts()
  readonly #known = new KnownProxies()
  readonly #statuses: LiveStatuses
  readonly #writer: StatusWriter
  readonly #replica = new Replica()
  readonly #stream = new DeltaStream()
  readonly #objects = new Map<string, KubeObject>()
  #version = 0
  #snapshot = this.#store.take()
  #subscription: ReturnType<Publications['subscribe']>
  #outcome: Outcome | undefined
  #served: Model | undefined
  /** Objects that were read. */
  readonly looked = new Set<string>()
  readonly written: string[] = []
  resources: string[] = []
  sentToWorkers = 0

  constructor() {
    const here = this
    this.#statuses = new LiveStatuses({
      proxiesOf: (gateway) => ({
        ...this.#known.look(gateway, {
          connected: this.#publications.proxies(gateway),
          ready: this.#publications.proxies(gateway).map(({ node }) => node),
          sequenceOf: (version) => this.#rollouts.sequenceOf(gateway, version),
        }),
        deployment: DEPLOYMENT,
      }),
      latest: (gateway) => this.#rollouts.latest(gateway),
    })
    const client: Pick<KubeClient, 'request'> = {
      async request(_method: string, path: string, { body }: KubeRequest = {}) {
        const [plural, name = ''] = path.split('/').slice(-3, -1)
        here.written.push(`${plural} ${name}`)
        const kind = plural === 'proxypolicies' ? 'ProxyPolicy' : 'HTTPRoute'
        const found = here.#objects.get(`${kind} ${name}`)
        const { status } = body as { readonly status: object }
        if (found !== undefined) here.put({ ...found, status })
        return { status: 200, body: {} }
      },
    }
    this.#writer = new StatusWriter({
      client: client as KubeClient,
      controllerName: CONTROLLER,
      versionOf: () => 'v1',
      onWrite: () => {},
    })
  }

  put(object: KubeObject): void {
    const { kind, metadata } = object
    const plain: KubeObject = {
      ...object,
      metadata: { ...metadata, resourceVersion: String(++this.#version) },
    }
    this.#objects.set(`${kind} ${metadata.name}`, plain)
    const watched = new Proxy(plain, {
      get: (target, key) => {
        this.looked.add(`${kind} ${metadata.name}`)
        return Reflect.get(target, key)
      },
    })
    this.#store.put(kind, watched)
  }

  /** Runs until nothing is left to do. */
  async settle(): Promise<void> {
    for (let before = -1; before !== this.#version; ) {
      before = this.#version
      this.#snapshot = this.#store.take()
      const { models, touched, removed } = this.#translator.translate(this.#snapshot)
      const model = models.get(GATEWAY)
      if (model !== undefined) {
        const version = this.#publications.publish(GATEWAY, model)
        if (this.#rollouts.sequenceOf(GATEWAY, version) < this.#rollouts.latest(GATEWAY)) {
          this.#rollouts.published(GATEWAY, version)
        } else if (this.#rollouts.latest(GATEWAY) === 0) this.#rollouts.published(GATEWAY, version)
      }
      this.#statuses.touch(touched)
      this.#statuses.forget(removed)
      await this.#writer.write(this.#snapshot, this.#statuses.take())
      this.#deliver()
      await this.#writer.write(this.#snapshot, this.#statuses.take())
    }
  }

  #deliver(): void {
    const here = this
    if (this.#subscription === undefined) {
      const proxy = {
        node: 'proxy',
        wake: () => {},
        get outcome() {
          return here.#outcome
        },
      }
      this.#subscription = this.#publications.subscribe(GATEWAY, proxy)
      this.#stream.receive(this.#replica.begin('proxy'))
    }
    const next = () => this.#stream.next(this.#subscription?.snapshot())
    for (let response = next(); response !== undefined; response = next()) {
      this.resources.push(...response.resources.map(({ name }) => name))
      const received = this.#replica.receive(response)
      if (received.kind === 'model') {
        this.sentToWorkers += addedIn(patchBetween(this.#served, received.model)).length
        this.#served = received.model
      }
      this.#outcome = this.#stream.receive(acknowledgement(response.nonce, [])) ?? this.#outcome
    }
  }

  forgetCounts(): void {
    this.looked.clear()
    this.written.length = 0
    this.resources = []
    this.sentToWorkers = 0
  }
}

const meta = (name: string, n = 0, generation = 1) => ({
  name,
  namespace: 'apps',
  uid: name,
  generation,
  creationTimestamp: new Date(1_770_000_000_000 + n * 1_000).toISOString(),
})

function routeOf(n: number, path = `/r${n}`, generation = 1): KubeObject {
  const matches = [{ path: { type: 'PathPrefix', value: path } }]
  const rules = [{ matches, backendRefs: [{ name: 'app', port: 80 }] }]
  const spec = { parentRefs: [{ name: 'edge' }], rules }
  const metadata = meta(`r${n}`, n, generation)
  return { apiVersion: GATEWAY_API, kind: 'HTTPRoute', metadata, spec }
}

function policyOf(n: number, value: string, generation = 1): KubeObject {
  const policy = { matchExpressions: [`request.headers['x-who'] == '${value}'`] }
  return {
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyPolicy',
    metadata: meta(`p${n}`, n, generation),
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: `r${n}` }],
      traffic: { authorization: { action: 'Allow', policy } },
    },
  }
}

async function started(routes: number): Promise<CountedPlane> {
  const plane = new CountedPlane()
  const listeners = [{ name: 'http', protocol: 'HTTP', port: 80 }]
  plane.put({
    apiVersion: GATEWAY_API,
    kind: 'GatewayClass',
    metadata: { name: 'portcullis' },
    spec: { controllerName: CONTROLLER },
  })
  plane.put({
    apiVersion: GATEWAY_API,
    kind: 'Gateway',
    metadata: meta('edge'),
    spec: { gatewayClassName: 'portcullis', listeners },
  })
  plane.put({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta('app'),
    spec: { ports: [{ port: 80 }] },
  })
  for (let n = 0; n < routes; n++) {
    plane.put(routeOf(n))
    plane.put(policyOf(n, `v${n}`))
  }
  await plane.settle()
  plane.forgetCounts()
  return plane
}

describe('the cost of one edit, from the object to the proxy and its status', () => {
  /** The edited object, its targets, and a few more. */
  const MAX_LOOKED = 20

  for (const routes of [30, 1_000]) {
    it(`of a policy beside ${routes} others sends one resource and writes one status`, async () => {
      const plane = await started(routes)
      for (const n of [17, 3, 29]) {
        plane.put(policyOf(n, 'edited', 2))
        await plane.settle()
        assert.deepEqual(plane.resources, [`routes/HTTPRoute/apps/r${n}`])
        assert.equal(plane.sentToWorkers, 1)
        assert.deepEqual([...new Set(plane.written)], [`proxypolicies p${n}`])
        assert.ok(plane.written.length <= 2, 'once, and once more when the proxy has it')
        assert.ok(plane.looked.size <= MAX_LOOKED, `looked into ${plane.looked.size} objects`)
        plane.forgetCounts()
      }
    })

    it(`of a route beside ${routes} others does, too`, async () => {
      const plane = await started(routes)
      plane.put(routeOf(11, '/moved', 2))
      await plane.settle()
      assert.deepEqual(plane.resources, ['routes/HTTPRoute/apps/r11'])
      assert.equal(plane.sentToWorkers, 1)
      assert.deepEqual([...new Set(plane.written)], ['httproutes r11'])
      assert.ok(plane.looked.size <= MAX_LOOKED, `looked into ${plane.looked.size} objects`)
    })
  }
})
