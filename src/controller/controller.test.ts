import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { collectGarbage } from '../../test/collect-garbage.ts'
import type { Model } from '../model/model.ts'
import { defaultSettings } from '../sources/file/sections/config.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { type KubeClient, KubeError, type KubeRequest, type WatchEvent } from './cluster/client.ts'
import { Controller } from './controller.ts'
import { readOptions } from './options.ts'

interface Item {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec: object
}

const PLURALS: Readonly<Record<string, string>> = {
  GatewayClass: 'gatewayclasses',
  Gateway: 'gateways',
  HTTPRoute: 'httproutes',
}

interface Live extends Item {
  readonly metadata: Item['metadata'] & { readonly resourceVersion: string }
  readonly status?: unknown
}

/** An API server with all kinds and the objects of a test; statuses are sent back in watches. */
class FakeCluster implements KubeClient {
  readonly written: { readonly method: string; readonly path: string }[] = []
  readonly #items = new Map<string, Map<string, Live>>()
  readonly #watches = new Map<string, (event: WatchEvent) => void>()
  #version = 1

  put(item: Item): void {
    const resourceVersion = String(++this.#version)
    const metadata = { ...item.metadata, uid: resourceVersion, resourceVersion, generation: 1 }
    this.#change('ADDED', { ...item, metadata })
  }

  delete({ kind, metadata }: Item): void {
    const plural = PLURALS[kind] ?? ''
    const found = this.#of(plural).get(`${metadata.namespace}/${metadata.name}`)
    if (found === undefined) return
    this.#of(plural).delete(`${metadata.namespace}/${metadata.name}`)
    this.#watches.get(plural)?.({ type: 'DELETED', object: found })
  }

  statusOf(plural: string, key: string): unknown {
    return this.#of(plural).get(key)?.status
  }

  async request(method: string, path: string, { body }: KubeRequest = {}) {
    if (method !== 'GET') {
      this.written.push({ method, path })
      if (path.endsWith('/status')) return this.#writeStatus(path, body as { status: object })
      return { status: method === 'POST' ? 201 : 200, body: {} }
    }
    if (path.includes('/leases/')) return { status: 404, body: {} }
    const items = [...this.#of(pluralOf(path)).values()]
    const metadata = { resourceVersion: String(this.#version) }
    return { status: 200, body: { metadata, items } }
  }

  watch(path: string, onEvent: (event: WatchEvent) => void, signal: AbortSignal): Promise<void> {
    const plural = pluralOf(path)
    this.#watches.set(plural, onEvent)
    // Changes between the list and the watch are not lost.
    const from = Number(new URL(path, 'https://api').searchParams.get('resourceVersion'))
    for (const object of this.#of(plural).values()) {
      if (Number(object.metadata.resourceVersion) > from) onEvent({ type: 'ADDED', object })
    }
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(new KubeError(0, 'aborted')))
    })
  }

  #writeStatus(path: string, { status }: { readonly status: object }) {
    const [namespace, plural = '', name] = path.split('/').slice(-4, -1)
    const found = this.#of(plural).get(`${namespace}/${name}`)
    if (found === undefined) return { status: 404, body: {} }
    const metadata = { ...found.metadata, resourceVersion: String(++this.#version) }
    const merged = { ...(found.status as object | undefined), ...status }
    this.#change('MODIFIED', { ...found, metadata, status: merged })
    return { status: 200, body: {} }
  }

  #change(type: 'ADDED' | 'MODIFIED', item: Live): void {
    const plural = PLURALS[item.kind] ?? ''
    this.#of(plural).set(`${item.metadata.namespace}/${item.metadata.name}`, item)
    this.#watches.get(plural)?.({ type, object: item })
  }

  #of(plural: string): Map<string, Live> {
    const known = this.#items.get(plural) ?? new Map()
    this.#items.set(plural, known)
    return known
  }
}

function pluralOf(path: string): string {
  return path.split('?')[0]?.split('/').at(-1) ?? ''
}

const API = 'gateway.networking.k8s.io/v1'
const CLASS = {
  apiVersion: API,
  kind: 'GatewayClass',
  metadata: { name: 'portcullis' },
  spec: { controllerName: 'portcullis.dev/controller' },
}
const gatewayOf = (name: string) => ({
  apiVersion: API,
  kind: 'Gateway',
  metadata: { name, namespace: 'apps' },
  spec: {
    gatewayClassName: 'portcullis',
    listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }],
  },
})
const GATEWAY = gatewayOf('edge')
const routeOf = (name: string) => ({
  apiVersion: API,
  kind: 'HTTPRoute',
  metadata: { name, namespace: 'apps' },
  spec: { parentRefs: [{ name: 'edge' }], rules: [{}] },
})

/** Waits until a condition is met; no test depends on how long that takes. */
async function until(isSo: () => boolean, what: string): Promise<void> {
  const end = Date.now() + 60_000
  while (!isSo()) {
    assert.ok(Date.now() < end, `there was not ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** A controller of a cluster, with the number of routes of each Model that it published. */
function controllerOf(cluster: FakeCluster, deploy: () => Promise<void> = async () => {}) {
  const routes = new Map<string, number>()
  const models: WeakRef<Model>[] = []
  const controller = new Controller({
    client: cluster,
    options: readOptions({ POD_NAME: 'a', POD_NAMESPACE: 'system' }),
    settings: defaultSettings(),
    delivery: {
      publish: (gateway: string, model: Model) => {
        routes.set(gateway, model.routes.length)
        models.push(new WeakRef(model))
        return String(model.routes.length)
      },
      withdraw: (gateway: string) => void routes.delete(gateway),
      proxies: () => [],
    },
    deployments: { deploy: () => deploy().then(() => true), failuresOf: () => [] },
    log: createLogger({ format: 'json', level: 'error', write: () => {} }),
    metrics: createMetrics(),
  })
  return { controller, routes, models }
}

describe('Controller', () => {
  it('writes the status of an object that appears while proxies are deployed', async () => {
    const cluster = new FakeCluster()
    for (const item of [CLASS, GATEWAY, routeOf('first')]) cluster.put(item)
    let [deploys, goOn] = [0, () => {}]
    const held = new Promise<void>((resolve) => (goOn = resolve))
    // The first deployment lasts until the next object is translated.
    const { controller, routes } = controllerOf(cluster, async () => {
      deploys++
      if (deploys === 1) await held
    })
    const hasStatus = (name: string) => cluster.statusOf('httproutes', `apps/${name}`) !== undefined
    controller.start()
    try {
      await until(() => deploys === 1, 'a deployment')
      cluster.put(routeOf('second'))
      await until(() => routes.get('apps/edge') === 2, 'a second route in the Model')
      assert.ok(!hasStatus('second'))
      goOn()
      await until(() => hasStatus('first'), 'a status of the first route')
      await until(() => hasStatus('second'), 'a status of the second route')
    } finally {
      goOn()
      await controller.stop()
    }
  })

  it('an unreadable object does not delay a thousand others', async () => {
    const cluster = new FakeCluster()
    const count = 1000
    for (const item of [CLASS, GATEWAY]) cluster.put(item)
    for (let n = 0; n < count; n++) {
      cluster.put(routeOf(`r${n}`))
      if (n !== 500) continue
      cluster.put({ ...routeOf('bad'), spec: { parentRefs: 'edge', rules: [{ matches: 7 }] } })
    }
    const { controller, routes } = controllerOf(cluster)
    const isWritten = (n: number) => cluster.statusOf('httproutes', `apps/r${n}`) !== undefined
    controller.start()
    try {
      await until(() => routes.get('apps/edge') === count, 'all good routes')
      const all = Array.from({ length: count }, (_, n) => n)
      await until(() => all.every(isWritten), 'the status of all good routes')
      cluster.put(routeOf('later'))
      await until(() => routes.get('apps/edge') === count + 1, 'a later route')
    } finally {
      await controller.stop()
    }
  })

  it('500 Gateways that come and go leave nothing behind, and each is written a few times', async () => {
    const cluster = new FakeCluster()
    cluster.put(CLASS)
    const { controller, routes, models } = controllerOf(cluster)
    const gateways = Array.from({ length: 500 }, (_, n) => gatewayOf(`g${n}`))
    const isWritten = ({ metadata }: Item) =>
      cluster.statusOf('gateways', `apps/${metadata.name}`) !== undefined
    controller.start()
    try {
      for (const one of gateways) cluster.put(one)
      await until(() => routes.size === 500, 'a Model for each')
      await until(() => gateways.every(isWritten), 'a status of each')
      assert.equal(controller.gatewayOf('apps', 'g7'), 'apps/g7')
      for (const one of gateways) cluster.delete(one)
      await until(() => routes.size === 0, 'an end of all Models')
      assert.equal(controller.gatewayOf('apps', 'g7'), undefined)
      const statuses = cluster.written.filter(({ path }) => path.includes('/gateways/'))
      assert.ok(statuses.length <= 3 * gateways.length, `${statuses.length} writes`)
      // The next change is compared with the last state, and with nothing before that.
      for (const one of [gatewayOf('next'), gatewayOf('last')]) {
        cluster.put(one)
        await until(() => isWritten(one), 'a status of a later one')
      }
      const held = () => models.filter((model) => model.deref() !== undefined).length
      await until(() => {
        collectGarbage()
        return held() <= 2
      }, 'an end of what was made for them')
    } finally {
      await controller.stop()
    }
  })
})
