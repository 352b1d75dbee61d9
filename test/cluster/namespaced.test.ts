import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { HttpsKubeClient } from '../../src/controller/cluster/client.ts'
import { readKubeconfig } from '../../src/controller/cluster/credentials.ts'
import { Controller } from '../../src/controller/controller.ts'
import { loadAuthority } from '../../src/controller/delivery-server.ts'
import { GatewayDeployments } from '../../src/controller/deploy/gateway-deployments.ts'
import { readOptions } from '../../src/controller/options.ts'
import { defaultSettings } from '../../src/sources/file/sections/config.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { chartFolder } from '../charts/helm.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { type Cluster, eventually, missing, startCluster } from './harness.ts'
import { HeldModels } from './held-models.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }
const SYSTEM = 'portcullis-system'
const WATCHED = ['team-a', 'team-b']

/** Objects of one team; the route of each reads a Secret and a Service of its own namespace. */
function objectsOf(namespace: string): readonly object[] {
  const metadata = (name: string) => ({ name, namespace })
  const version = { apiVersion: 'gateway.networking.k8s.io/v1' }
  return [
    {
      ...{ ...version, kind: 'Gateway', metadata: metadata('web') },
      spec: {
        gatewayClassName: 'portcullis',
        listeners: [
          {
            ...{ name: 'http', protocol: 'HTTP', port: 80 },
            allowedRoutes: {
              namespaces: { from: 'Selector', selector: { matchLabels: { open: 'yes' } } },
            },
          },
        ],
      },
    },
    {
      ...{ ...version, kind: 'HTTPRoute', metadata: metadata('all') },
      spec: {
        parentRefs: [{ name: 'web', namespace: 'team-a' }],
        rules: [{ backendRefs: [{ name: 'api', port: 80 }] }],
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata('api'),
      spec: { ports: [{ port: 80 }] },
    },
    { apiVersion: 'v1', kind: 'Secret', metadata: metadata('key'), stringData: { key: 'secret' } },
  ]
}

describe('a controller for some namespaces, on a real API server', options, () => {
  let cluster: Cluster
  let stop: () => Promise<void>
  let isReady = () => false
  const account = `system:serviceaccount:${SYSTEM}:portcullis`

  before(async () => {
    cluster = await startCluster({ audit: true })
    for (const name of [SYSTEM, ...WATCHED, 'elsewhere']) {
      cluster.createNamespace(name)
      if (name !== 'team-b') cluster.kubectl(['label', 'namespace', name, 'open=yes'])
    }
    const definitions = join(chartFolder('portcullis-crds'), 'templates')
    for (const file of [definitions, ...gatewayApiDefinitions('experimental')]) {
      cluster.kubectl(['apply', '--server-side', '-f', file])
    }
    const chart = chartFolder('portcullis')
    const values = { watchNamespaces: WATCHED, rbac: { gatewayNamespaces: ['team-a'] } }
    cluster.helm(['install', 'portcullis', chart, '--namespace', SYSTEM], values)
    for (const namespace of [...WATCHED, 'elsewhere']) {
      const text = objectsOf(namespace).map((one) => JSON.stringify(one))
      cluster.kubectl(['apply', '--server-side', '-f', '-'], text.join('\n---\n'))
    }
    // With exactly the permissions that the chart grants.
    const token = cluster.kubectl(['-n', SYSTEM, 'create', 'token', 'portcullis']).trim()
    const { server, tls } = readKubeconfig(cluster.kubeconfig)
    const ca = tls.ca === undefined ? {} : { ca: tls.ca }
    const client = new HttpsKubeClient({ server, tls: ca, token: () => token })
    const log = createLogger({ format: 'text', level: 'debug', write: () => {} })
    const authority = await loadAuthority(client, SYSTEM, ['localhost'], Date.now())
    assert.ok(authority)
    const read = readOptions({
      POD_NAME: 'one',
      POD_NAMESPACE: SYSTEM,
      PORTCULLIS_WATCH_NAMESPACES: JSON.stringify(WATCHED),
      PORTCULLIS_GATEWAY_NAMESPACES: '["team-a"]',
    })
    const controller = new Controller({
      client,
      options: read,
      settings: defaultSettings(),
      delivery: new HeldModels(),
      deployments: new GatewayDeployments({
        client,
        controllerName: read.controllerName,
        image: { registry: 'r', repository: 'p', tag: 't' },
        xdsAddress: 'x:1',
        xdsCa: () => 'a certificate',
        onDeployed: () => {},
      }),
      log,
      metrics: createMetrics(),
      backoff: { min: 50, max: 500 },
      leaseDuration: 3,
    })
    controller.start()
    isReady = () => controller.isReady
    stop = async () => {
      await controller.stop()
      client.close()
    }
  })
  after(async () => {
    await stop?.()
    await cluster?.close()
  })

  const get = async (path: string) => {
    const { body } = await cluster.ask('GET', `/apis/gateway.networking.k8s.io/v1/${path}`)
    return body as { readonly status?: Readonly<Record<string, unknown>> }
  }
  const mayI = async (verb: string, resource: string, namespace?: string, group = '') => {
    const resourceAttributes = { verb, group, resource, namespace }
    const spec = { user: account, resourceAttributes }
    const kind = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' }
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const { body } = await cluster.ask('POST', path, { ...kind, spec })
    return (body['status'] as { readonly allowed: boolean }).allowed
  }

  it('is ready, and serves what is in them, with the labels of their namespaces', async () => {
    await eventually(async () => isReady() || undefined, 'readiness', 30)
    const conditionsOf = async (namespace: string) => {
      const { status } = await get(`namespaces/${namespace}/httproutes/all`)
      const [parent] = (status?.['parents'] ?? []) as readonly {
        readonly conditions: readonly { readonly type: string; readonly reason: string }[]
      }[]
      return parent?.conditions.find(({ type }) => type === 'Accepted')?.reason
    }
    for (const [namespace, expected] of [
      ['team-a', 'Accepted'],
      ['team-b', 'NotAllowedByListeners'],
    ] as const) {
      await eventually(
        async () => (await conditionsOf(namespace)) === expected || undefined,
        `${namespace}: ${expected}`,
        30,
      )
    }
    const names = () => cluster.kubectl(['-n', 'team-a', 'get', 'deployments', '-o', 'name'])
    await eventually(async () => names().includes('deployment') || undefined, 'the proxies', 30)
  })

  it('neither reads nor writes anything elsewhere', async () => {
    assert.equal((await get('namespaces/elsewhere/httproutes/all')).status, undefined)
    for (const resource of ['secrets', 'configmaps', 'services', 'serviceaccounts']) {
      for (const verb of ['get', 'list', 'watch', 'create', 'patch', 'delete']) {
        assert.equal(await mayI(verb, resource), false, `${verb} ${resource}`)
        assert.equal(await mayI(verb, resource, 'elsewhere'), false, `${verb} ${resource}`)
        const isRead = ['get', 'list', 'watch'].includes(verb)
        assert.equal(await mayI(verb, resource, 'team-a'), true, `${verb} ${resource}`)
        assert.equal(await mayI(verb, resource, 'team-b'), isRead, `${verb} ${resource}`)
      }
    }
    assert.equal(await mayI('list', 'secrets', SYSTEM), false)
    assert.equal(await mayI('list', 'namespaces'), false)
    assert.equal(await mayI('list', 'gateways', undefined, 'gateway.networking.k8s.io'), false)
  })

  it('requests nothing that the chart does not grant', () => {
    const rejected = cluster
      .audited(account)
      .filter(({ responseStatus }) => responseStatus?.code === 403)
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.namespace ?? ''}/${objectRef?.resource}`)
    // The mesh and other extensions are granted in the namespaces, but their kinds are not there.
    assert.deepEqual([...new Set(rejected)], [])
    const places = cluster.audited(account).map(({ objectRef }) => objectRef?.namespace ?? '')
    assert.deepEqual([...new Set(places)].sort(), ['', SYSTEM, ...WATCHED].sort())
  })
})
