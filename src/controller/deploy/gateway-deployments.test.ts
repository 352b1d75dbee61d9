import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { Model } from '../../model/model.ts'
import type { KubeObject } from '../cluster/object.ts'
import { snapshotOf } from '../cluster/snapshot.ts'
import { GatewayDeployments } from './gateway-deployments.ts'

const KINDS: Readonly<Record<string, string>> = {
  serviceaccounts: 'ServiceAccount',
  configmaps: 'ConfigMap',
  secrets: 'Secret',
  services: 'Service',
  deployments: 'Deployment',
}

/** An API server that stores what it receives. */
class FakeApi {
  readonly objects = new Map<string, KubeObject>()
  writes: string[] = []
  reads = 0
  isForbidden = false
  #version = 0

  request = async (method: string, path: string, { body }: { body?: unknown } = {}) => {
    const [, plural = '', name = ''] = /([a-z]+)\/([^/?]+)(?:\?|$)/.exec(path) ?? []
    const namespace = /namespaces\/([^/]+)/.exec(path)?.[1] ?? ''
    const kind = KINDS[plural] ?? plural
    const key = `${kind} ${namespace}/${name}`
    if (method === 'GET') {
      this.reads++
      const body = this.objects.get(key)
      return { status: body === undefined ? 404 : 200, body: body ?? {} }
    }
    this.writes.push(`${method} ${key}`)
    if (this.isForbidden) return { status: 403, body: { message: 'forbidden' } }
    if (method === 'DELETE') {
      this.objects.delete(key)
      return { status: 200, body: {} }
    }
    const made = structuredClone(body) as KubeObject
    const metadata = { ...made.metadata, resourceVersion: `${++this.#version}` }
    this.objects.set(key, { ...made, metadata })
    return { status: 200, body: this.objects.get(key) }
  }
}

const gatewayOf = (name: string, gatewayClassName = 'portcullis') =>
  ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace: 'apps', uid: name },
    spec: { gatewayClassName, listeners: [] },
  }) as KubeObject
const CLASS = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'portcullis' },
  spec: { controllerName: 'ours' },
} as KubeObject
const modelOf = (...ports: readonly number[]) =>
  ({ gateways: [{ listeners: ports.map((port) => ({ port })) }] }) as unknown as Model

describe('the proxies of all Gateways', () => {
  let api = new FakeApi()
  let trust = 'first'
  let isLeader = true
  let deployments: GatewayDeployments
  beforeEach(() => {
    api = new FakeApi()
    trust = 'first'
    isLeader = true
    deployments = new GatewayDeployments({
      client: api,
      controllerName: 'ours',
      image: { registry: 'r', repository: 'p', tag: '1' },
      xdsAddress: 'https://x:9978',
      xdsCa: () => trust,
    })
  })
  const gateways = [gatewayOf('a'), gatewayOf('b')]
  const deploy = (objects: readonly KubeObject[] = gateways, ports: readonly number[] = [80]) => {
    api.writes = []
    const models = new Map(
      objects.flatMap(({ kind, metadata: { namespace, name } }) =>
        kind === 'Gateway' ? [[`${namespace}/${name}`, modelOf(...ports)] as const] : [],
      ),
    )
    const snapshot = snapshotOf([CLASS, ...objects, ...api.objects.values()])
    return deployments.deploy(snapshot, models, () => isLeader)
  }

  it('are deployed once, and not compared again while nothing changes', async () => {
    assert.equal(await deploy(), true)
    assert.equal(api.writes.length, 12)
    await deploy()
    assert.deepEqual(api.writes, [])
    const before = api.reads
    for (let count = 0; count < 3; count++) await deploy()
    assert.deepEqual(api.writes, [])
    assert.equal(api.reads, before)
  })

  it('follow the ports of listeners and the trusted CA', async () => {
    await deploy()
    await deploy(gateways, [80, 443])
    assert.deepEqual(api.writes, ['PATCH Service apps/a', 'PATCH Service apps/b'])
    trust = 'second'
    await deploy(gateways, [80, 443])
    assert.deepEqual(api.writes, ['PATCH ConfigMap apps/a-xds-ca', 'PATCH ConfigMap apps/b-xds-ca'])
  })

  it('follow the parameters of their class', async () => {
    const parameters = (level: string) =>
      ({
        apiVersion: 'portcullis.dev/v1alpha1',
        kind: 'ProxyParameters',
        metadata: { name: 'p', namespace: 'infra' },
        spec: { logging: { level } },
      }) as KubeObject
    const parametersRef = {
      group: 'portcullis.dev',
      kind: 'ProxyParameters',
      name: 'p',
      namespace: 'infra',
    }
    const classed = { ...CLASS, spec: { controllerName: 'ours', parametersRef } }
    const all = (level: string) => [gatewayOf('a'), classed, parameters(level)]
    await deploy(all('info'))
    assert.equal(api.writes.length, 6)
    await deploy(all('debug'))
    assert.deepEqual(api.writes, ['PATCH ConfigMap apps/a', 'PATCH Deployment apps/a'])
    assert.equal(await deploy([gatewayOf('a'), classed]), false)
    assert.match(deployments.failuresOf('apps/a').join(), /ProxyParameters infra\/p not found/)
    assert.deepEqual(api.writes, [])
  })

  it('are retried after a failure, independently of each other', async () => {
    api.isForbidden = true
    assert.equal(await deploy(), false)
    assert.match(deployments.failuresOf('apps/a').join(), /ServiceAccount apps\/a: forbidden/)
    api.isForbidden = false
    assert.equal(await deploy(), true)
    assert.equal(api.writes.length, 12)
    assert.deepEqual(deployments.failuresOf('apps/a'), [])
  })

  it('are ignored by a replica that is no longer the leader', async () => {
    isLeader = false
    await deploy()
    assert.deepEqual(api.writes, [])
  })

  it('are deleted when a Gateway moves to another controller, and only our own', async () => {
    const theirs = {
      ...CLASS,
      metadata: { name: 'theirs' },
      spec: { controllerName: 'theirs' },
    }
    await deploy()
    const moved = snapshotOf([CLASS, theirs, gatewayOf('a', 'theirs'), ...api.objects.values()])
    api.writes = []
    await deployments.deploy(moved, new Map(), () => true)
    assert.deepEqual(
      api.writes.filter((write) => !/^DELETE \w+ apps\/a(-xds-ca|-session-key)?$/.test(write)),
      [],
    )
    assert.equal(api.writes.length, 6)
    // The other controller may be another Portcullis: its deployments must not be touched.
    await deploy([gatewayOf('a')])
    for (const [key, object] of api.objects) {
      const labels = {
        ...object.metadata.labels,
        'gateway.networking.k8s.io/gateway-class-name': 'theirs',
      }
      api.objects.set(key, { ...object, metadata: { ...object.metadata, labels } })
    }
    api.writes = []
    const after = snapshotOf([CLASS, theirs, gatewayOf('a', 'theirs'), ...api.objects.values()])
    await deployments.deploy(after, new Map(), () => true)
    assert.deepEqual(api.writes, [])
  })

  it('are recreated when their object is deleted', async () => {
    await deploy()
    await deploy()
    api.objects.delete('Service apps/a')
    await deploy()
    assert.deepEqual(api.writes, ['PATCH Service apps/a'])
  })
})
