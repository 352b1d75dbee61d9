// The controller as a program with the chart's permissions, a real API server, and proxies as
// processes: configuration that is applied to the cluster is enforced on sockets.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { chartFolder } from '../charts/helm.ts'
import { freePorts } from '../free-port.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { type Cluster, eventually, missing, startCluster } from './harness.ts'
import { bringCertificate, ownAddress, PROXY_START } from './plane.ts'
import { Programs, type Running, SYSTEM } from './programs.ts'
import { PROVIDER, tokenOf } from './tokens.ts'

const reason = missing() ?? (ownAddress === undefined ? 'only loopback is here' : undefined)
const options = reason === undefined ? {} : { skip: reason }
const GATEWAYS = '/apis/gateway.networking.k8s.io/v1/namespaces/apps'
const POLICIES = '/apis/portcullis.dev/v1alpha1/namespaces/apps/proxypolicies'

describe('delivery from a real controller to real proxies', options, () => {
  let cluster: Cluster
  let backend: Server
  let programs: Programs
  /**
   * Three ports of the controller, those of the two Gateways, and three for each of three proxies.
   */
  let port = 0
  let controller: Running
  let proxy: Running

  before(async () => {
    cluster = await startCluster()
    const [first] = await freePorts(14)
    port = first as number
    for (const name of ['apps', 'shop', SYSTEM]) cluster.createNamespace(name)
    const definitions = join(chartFolder('portcullis-crds'), 'templates')
    const files = [definitions, ...gatewayApiDefinitions('experimental')]
    for (const file of files) cluster.kubectl(['apply', '--server-side', '-f', file])
    cluster.helm(['install', 'portcullis', chartFolder('portcullis'), '--namespace', SYSTEM])
    programs = new Programs(cluster, port)
    backend = createServer((_, response) => response.end('served')).listen(0, ownAddress)
    await once(backend, 'listening')
  })
  after(async () => {
    await programs?.close()
    backend?.close()
    await cluster?.close()
  })

  interface Asked {
    readonly sub?: string
    readonly internal?: boolean
    readonly method?: string
    readonly host?: string
  }

  function ask({ sub, internal = true, method = 'GET', host }: Asked = {}): Promise<number> {
    return new Promise((resolve) => {
      const headers = {
        host: host ?? 'orders.example.com',
        ...(sub === undefined ? {} : { authorization: `Bearer ${tokenOf({ sub })}` }),
        ...(internal ? { 'x-internal': 'true' } : {}),
      }
      const where = { host: '127.0.0.1', port: port + 3, path: '/orders/1', agent: false }
      const sent = request({ ...where, method, headers }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      sent.on('error', () => resolve(0))
      sent.end()
    })
  }

  const becomes = (asked: Asked, status: number) =>
    eventually(
      async () => ((await ask(asked)) === status ? true : undefined),
      `${status} for ${JSON.stringify(asked)}`,
      60,
    ).catch((error) => {
      throw new Error(`${error.message}\n${controller.output().slice(-3000)}\n${proxy.output()}`)
    })

  interface Conditions {
    readonly conditions?: readonly {
      readonly type: string
      readonly status: string
      readonly reason: string
      readonly message: string
    }[]
  }
  type Status = Conditions & { readonly ancestors?: readonly Conditions[] }

  async function programmed(path: string, status: string): Promise<string> {
    let last: unknown
    return eventually(
      async () => {
        const { body } = await cluster.ask('GET', path)
        const { conditions, ancestors } = (body['status'] ?? {}) as Status
        last = conditions ?? ancestors
        const all = conditions ?? ancestors?.[0]?.conditions ?? []
        const found = all.find(({ type }) => type === 'Programmed')
        return found?.status === status ? `${found.reason}: ${found.message}` : undefined
      },
      `Programmed ${status} of ${path}`,
      60,
    ).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}\n${controller.output()}`)
    })
  }

  const apply = (text: string) => cluster.kubectl(['apply', '--server-side', '-f', '-'], text)
  const policy = (name: string, target: object, section: object) =>
    apply(
      JSON.stringify({
        apiVersion: 'portcullis.dev/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name, namespace: 'apps' },
        spec: { targetRefs: [target], ...section },
      }),
    )
  const GATEWAY = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }
  const authorization = (action: string, ...matchExpressions: readonly string[]) => ({
    authorization: { action, policy: { matchExpressions } },
  })
  const allow = (sub: string) =>
    policy('allow', GATEWAY, {
      traffic: {
        jwtAuthentication: { mode: 'Strict', providers: [PROVIDER] },
        ...authorization('Allow', `jwt.sub == '${sub}'`),
      },
    })

  it('creates the delivery certificates if there are none', async () => {
    controller = await programs.startController()
    const { status, body } = await cluster.ask(
      'GET',
      `/api/v1/namespaces/${SYSTEM}/secrets/portcullis-xds-cert`,
    )
    assert.equal(status, 200)
    assert.ok('ca.crt' in (body['data'] as object))
    await programs.stop(controller, 'SIGTERM')
  })

  it('deploys the objects of a Gateway, owned by it', async () => {
    cluster.kubectl(['-n', SYSTEM, 'delete', 'secret', 'portcullis-xds-cert'])
    bringCertificate(cluster)
    controller = await programs.startController()
    const gateway = (name: string, at: number) => `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: ${name}, namespace: apps }
spec:
  gatewayClassName: portcullis
  listeners: [{ name: http, protocol: HTTP, port: ${at} }]
`
    apply(`${gateway('edge', port + 3)}---${gateway('other', port + 4)}`)
    const { body } = await cluster.ask('GET', `${GATEWAYS}/gateways/edge`)
    for (const path of [
      'api/v1/namespaces/apps/serviceaccounts/edge',
      'api/v1/namespaces/apps/configmaps/edge',
      'api/v1/namespaces/apps/configmaps/edge-xds-ca',
      'api/v1/namespaces/apps/secrets/edge-session-key',
      'api/v1/namespaces/apps/services/edge',
      'apis/apps/v1/namespaces/apps/deployments/edge',
      'apis/apps/v1/namespaces/apps/deployments/other',
    ]) {
      const made = await eventually(
        async () => {
          const found = await cluster.ask('GET', `/${path}`)
          return found.status === 200 ? found.body : undefined
        },
        path,
        60,
      ).catch((error) => {
        throw new Error(`${error.message}\n${controller.output()}`)
      })
      const { ownerReferences: [owner] = [] } = made.metadata as unknown as {
        readonly ownerReferences?: readonly { readonly uid: string }[]
      }
      if (path.endsWith('other')) continue
      assert.equal(owner?.uid, (body.metadata as unknown as { readonly uid: string }).uid, path)
    }
  })

  it('a proxy becomes ready with the first configuration, and the Gateway programmed', async () => {
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.7' }] } }
    const path = '/api/v1/namespaces/apps/services/edge/status'
    await cluster.ask('PATCH', path, { status }, 'application/merge-patch+json')
    proxy = await programs.startProxy('edge', await programs.tokenFor('edge'), port + 5)
    await eventually(() => programs.isReady(port + 5), 'a ready proxy', PROXY_START).catch(
      (error) => {
        throw new Error(`${error.message}\n${proxy.output()}\n${controller.output()}`)
      },
    )
    const edge = `${GATEWAYS}/gateways/edge`
    assert.equal(await programmed(edge, 'False'), 'Pending: no proxy is ready')
    await programs.addEndpoint('edge', port + 5)
    assert.equal(
      await programmed(edge, 'True'),
      'Programmed: 1 of 1 ready proxies run generation 1',
    )
  })

  it('the policies of the specification are enforced', async () => {
    const { port: behind } = backend.address() as AddressInfo
    apply(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: orders, namespace: apps }
spec:
  parentRefs: [{ name: edge }]
  hostnames: [orders.example.com]
  rules:
  - matches: [{ path: { type: PathPrefix, value: /orders/ } }]
    backendRefs: [{ name: orders, port: 8080 }]
---
apiVersion: v1
kind: Service
metadata: { name: orders, namespace: apps }
spec: { ports: [{ name: web, port: 8080, targetPort: ${behind} }] }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { name: orders-1, namespace: apps, labels: { kubernetes.io/service-name: orders } }
addressType: IPv4
ports: [{ name: web, port: ${behind} }]
endpoints: [{ addresses: ['${ownAddress}'] }]
`)
    await becomes({}, 200)
    allow('alice')
    await becomes({}, 401)
    await becomes({ sub: 'alice' }, 200)
    await becomes({ sub: 'bob' }, 403)
    policy('require', GATEWAY, {
      traffic: authorization('Require', "request.headers['x-internal'] == 'true'"),
    })
    await becomes({ sub: 'alice', internal: false }, 403)
    assert.equal(await ask({ sub: 'alice' }), 200)
    policy(
      'only-get',
      { group: '', kind: 'Service', name: 'orders' },
      { backend: authorization('Allow', "request.method == 'GET'") },
    )
    await becomes({ sub: 'alice', method: 'POST' }, 403)
    assert.equal(await ask({ sub: 'alice' }), 200)
    policy('deny', GATEWAY, {
      traffic: authorization('Deny', "request.host == 'orders.example.com'"),
    })
    await becomes({ sub: 'alice' }, 403)
    cluster.kubectl(['-n', 'apps', 'delete', 'proxypolicy', 'deny'])
    await becomes({ sub: 'alice' }, 200)
    for (const name of ['allow', 'require', 'only-get']) {
      assert.match(
        await programmed(`${POLICIES}/${name}`, 'True'),
        /^Programmed: all ready proxies run generation \d+$/,
      )
    }
  })

  it('an edit is enforced', async () => {
    allow('bob')
    await becomes({ sub: 'bob' }, 200)
    assert.equal(await ask({ sub: 'alice' }), 403)
    allow('alice')
    await becomes({ sub: 'alice' }, 200)
    assert.equal(await ask({ sub: 'bob' }), 403)
  })

  it('a token of another Gateway gets nothing of this one', async () => {
    assert.match(programs.stateOf('edge', port + 5) ?? '', /orders\.example\.com/)
    const other = await programs.startProxy('other', await programs.tokenFor('other'), port + 8)
    await eventually(() => programs.isReady(port + 8), 'the other proxy', PROXY_START)
    const stored = await eventually(
      async () => programs.stateOf('other', port + 8),
      'the state of the other proxy',
      10,
    )
    assert.doesNotMatch(stored, /orders|edge|alice/)
    assert.match(await programs.metrics(), /xds_connections\{gateway="apps\/other"\} 1\n/)
    await programs.stop(other, 'SIGKILL')
  })

  it('tokens of other accounts, and for other audiences, get nothing at all', async () => {
    cluster.kubectl(['-n', 'apps', 'create', 'serviceaccount', 'stranger'])
    for (const [account, audience, said] of [
      ['stranger', 'portcullis', 'unknown-gateway'],
      ['edge', 'somebody-else', 'invalid-token'],
    ] as const) {
      const token = await programs.tokenFor(account, audience)
      const rejected = await programs.startProxy('edge', token, port + 11)
      await eventually(
        async () => controller.output().includes(said) || undefined,
        `a rejection: ${said}`,
        PROXY_START,
      )
      assert.equal(await programs.isReady(port + 11), undefined)
      await programs.stop(rejected, 'SIGKILL')
    }
  })

  it('nothing is written at rest', async () => {
    const versions = async () => {
      const kinds = 'gateway,httproute,proxypolicy,deploy,svc,sa,cm,secret,gatewayclass'
      const list = JSON.parse(cluster.kubectl(['get', kinds, '-A', '-o', 'json'])) as {
        readonly items: readonly {
          readonly metadata: { readonly uid: string; readonly resourceVersion: string }
        }[]
      }
      return list.items.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`).sort()
    }
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const before = await versions()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    assert.deepEqual(await versions(), before)
  })

  it('proxies work without the controller, also when they restart', async () => {
    await programs.stop(controller, 'SIGKILL')
    assert.equal(await ask({ sub: 'alice' }), 200)
    assert.equal(await ask({ sub: 'bob' }), 403)
    await programs.stop(proxy, 'SIGKILL')
    proxy = await programs.startProxy('edge', await programs.tokenFor('edge'), port + 5)
    await becomes({ sub: 'alice' }, 200)
    assert.equal(await ask({ sub: 'bob' }), 403)
    assert.equal(await ask(), 401)
  })

  it('a restarted controller continues, and deploys nothing again', async () => {
    const path = '/apis/apps/v1/namespaces/apps/deployments/edge'
    const generation = async () => {
      const { body } = await cluster.ask('GET', path)
      return (body.metadata as unknown as { readonly generation: number }).generation
    }
    const before = await generation()
    controller = await programs.startController()
    allow('bob')
    await becomes({ sub: 'bob' }, 200)
    assert.equal(await ask({ sub: 'alice' }), 403)
    assert.match(
      await programmed(`${POLICIES}/allow`, 'True'),
      /^Programmed: all ready proxies run generation \d+$/,
    )
    assert.equal(await generation(), before)
  })

  it('proxies are deleted when another controller takes over their Gateway', async () => {
    apply(`
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: theirs }
spec: { controllerName: example.com/other }
`)
    const patch = JSON.stringify({ spec: { gatewayClassName: 'theirs' } })
    cluster.kubectl(['-n', 'apps', 'patch', 'gateway', 'other', '--type=merge', '-p', patch])
    const label = 'gateway.networking.k8s.io/gateway-name'
    const left = (name: string) =>
      cluster.kubectl(['-n', 'apps', 'get', 'deploy,svc,sa,cm,secret', '-l', `${label}=${name}`])
    await eventually(async () => (left('other') === '' ? true : undefined), 'their end', 30)
    assert.match(left('edge'), /deployment\.apps\/edge/)
  })

  it('an object of another owner stays unchanged, and the Gateway reports it', async () => {
    cluster.kubectl(['-n', 'shop', 'create', 'serviceaccount', 'taken'])
    apply(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: taken, namespace: shop }
spec:
  gatewayClassName: portcullis
  listeners: [{ name: http, protocol: HTTP, port: 80 }]
`)
    const path = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways/taken'
    const said = await eventually(
      async () => {
        const found = await programmed(path, 'False')
        return found.startsWith('NoResources') ? found : undefined
      },
      'NoResources',
      60,
    )
    assert.match(said, /ServiceAccount shop\/taken: .* the controller does not manage/)
  })
})
