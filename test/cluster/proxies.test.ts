// The objects that the controller deploys for Gateways, and how it authenticates their proxies,
// with a real API server.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { loadAuthority } from '../../src/controller/delivery-server.ts'
import { Deployer, type LiveObject } from '../../src/controller/deploy/deployer.ts'
import type { ProxyParameters } from '../../src/controller/deploy/parameters.ts'
import type { DeployedGateway } from '../../src/controller/deploy/render.ts'
import { tokenReviews } from '../../src/controller/token-review.ts'
import { type Cluster, missing, startCluster } from './harness.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }
const CASES = join(import.meta.dirname, '../../src/controller/deploy/cases')
const OPTIONS = {
  image: { registry: 'r', repository: 'proxy', tag: 'v1' },
  xdsAddress: 'https://portcullis:9978',
  xdsCa: 'certificates',
}

const PATHS: Readonly<Record<string, string>> = {
  ServiceAccount: 'api/v1',
  ConfigMap: 'api/v1',
  Secret: 'api/v1',
  Service: 'api/v1',
  Deployment: 'apis/apps/v1',
  DaemonSet: 'apis/apps/v1',
  PodDisruptionBudget: 'apis/policy/v1',
  HorizontalPodAutoscaler: 'apis/autoscaling/v2',
}

describe('proxies of a cluster', options, () => {
  let cluster: Cluster
  before(async () => {
    cluster = await startCluster()
    for (const name of ['shop', 'infra', 'system']) {
      await cluster.ask('POST', '/api/v1/namespaces', { metadata: { name } })
    }
  })
  after(() => cluster?.close())

  let writes: string[] = []
  const client = {
    request: async (
      method: string,
      path: string,
      { body, contentType }: { body?: unknown; contentType?: string } = {},
    ) => {
      if (method !== 'GET') writes.push(`${method} ${path}`)
      return cluster.ask(method, path, body, contentType)
    },
  }
  const seen = new Map<string, LiveObject>()
  const live = (kind: string, namespace: string, name: string) =>
    seen.get(`${kind} ${namespace}/${name}`)
  /** Waits for the watches. */
  async function catchUp(namespace: string): Promise<void> {
    seen.clear()
    for (const [kind, prefix] of Object.entries(PATHS)) {
      const path = `/${prefix}/namespaces/${namespace}/${kind.toLowerCase()}s`
      const { body } = await cluster.ask('GET', path)
      const { items } = body as unknown as {
        readonly items: readonly (LiveObject & { metadata: { name: string } })[]
      }
      for (const item of items) seen.set(`${kind} ${namespace}/${item.metadata.name}`, item)
    }
  }
  /** Excludes the status writes of the cluster's own controllers. */
  const versions = () =>
    [...seen]
      .filter(([title]) => !title.startsWith('HorizontalPodAutoscaler'))
      .map(([title, { metadata }]) => {
        const { generation } = metadata as { readonly generation?: number }
        return [title, generation ?? metadata.resourceVersion]
      })

  for (const file of globSync('*.yaml', { cwd: CASES }).filter(
    (name) => !name.endsWith('.out.yaml'),
  )) {
    it(`${file}: everything is accepted, and nothing is written again`, async () => {
      const { gateway, parameters } = parse(readFileSync(join(CASES, file), 'utf8')) as {
        readonly gateway: DeployedGateway
        readonly parameters: readonly ProxyParameters[]
      }
      const deployer = new Deployer({ client, live })
      await catchUp(gateway.namespace)
      const first = await deployer.deploy(gateway, parameters, OPTIONS)
      assert.deepEqual(first.failures, [])
      assert.ok(first.applied.length >= 5)
      await catchUp(gateway.namespace)
      const before = versions()
      writes = []
      for (let count = 0; count < 3; count++) await deployer.deploy(gateway, parameters, OPTIONS)
      assert.deepEqual(writes, [])
      // Another process without state: its writes must not change anything.
      const next = new Deployer({ client, live })
      const second = await next.deploy(gateway, parameters, OPTIONS)
      assert.deepEqual([second.failures, second.deleted], [[], []])
      await catchUp(gateway.namespace)
      assert.deepEqual(versions(), before)
      writes = []
      await next.deploy(gateway, parameters, OPTIONS)
      assert.deepEqual(writes, [])
      const ended = await next.deploy({ ...gateway, ports: [] }, [], OPTIONS)
      assert.deepEqual(ended.failures, [])
      await catchUp(gateway.namespace)
      assert.equal(live('Service', gateway.namespace, 'web'), undefined)
    })
  }

  it('tokens identify the Gateway of a proxy', async () => {
    const accounts = '/api/v1/namespaces/shop/serviceaccounts'
    await cluster.ask('POST', accounts, { metadata: { name: 'review' } })
    const authenticate = tokenReviews(client, (namespace, name) => `${namespace}/${name}`)
    const tokenFor = async (...audiences: readonly string[]) => {
      const { body } = await cluster.ask('POST', `${accounts}/review/token`, {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences },
      })
      return (body as unknown as { readonly status: { readonly token: string } }).status.token
    }
    assert.deepEqual(await authenticate(await tokenFor('portcullis')), { gateway: 'shop/review' })
    const other = await authenticate(await tokenFor('somebody-else'))
    assert.ok('rejected' in other)
    assert.deepEqual(await authenticate('x.y.z'), { rejected: 'invalid-token' })
  })

  it('replicas agree on one authority', async () => {
    const now = Date.now()
    const all = await Promise.all(
      [1, 2, 3].map(() => loadAuthority(client, 'system', ['localhost'], now)),
    )
    assert.equal(new Set(all.map(({ trust }) => trust)).size, 1)
    const later = now + 9.5 * 365 * 24 * 60 * 60 * 1000
    const rotated = await loadAuthority(client, 'system', ['localhost'], later)
    assert.ok(rotated.trust.startsWith(all[0]?.trust ?? ''))
    assert.equal(rotated.trust.split('BEGIN').length - 1, 2)
  })
})
