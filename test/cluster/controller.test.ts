import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { HttpsKubeClient } from '../../src/controller/cluster/client.ts'
import { readKubeconfig } from '../../src/controller/cluster/credentials.ts'
import { Controller } from '../../src/controller/controller.ts'
import { readOptions } from '../../src/controller/options.ts'
import { defaultSettings } from '../../src/sources/file/sections/config.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { chartFolder } from '../charts/helm.ts'
import { freePorts } from '../free-port.ts'
import { CONTROLLER } from '../programs.ts'
import { Forwarder } from './forwarder.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { type Cluster, eventually, missing, startCluster } from './harness.ts'
import { HeldModels } from './held-models.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }
const ROOT = join(import.meta.dirname, '../..')
const CASES = join(ROOT, 'src/controller/translate/cases')
const GATEWAY = '/apis/gateway.networking.k8s.io/v1'
const POLICIES = '/apis/portcullis.dev/v1alpha1'

interface Started {
  readonly controller: Controller
  readonly delivery: HeldModels
  readonly writes: () => number
  readonly stop: () => Promise<void>
}

describe('the controller on a real API server', options, () => {
  let cluster: Cluster
  let forwarder: Forwarder
  let token: string
  const started: Started[] = []

  before(async () => {
    cluster = await startCluster()
    for (const name of ['apps', 'shop', 'portcullis-system']) cluster.createNamespace(name)
    cluster.kubectl([
      'apply',
      '--server-side',
      '-f',
      join(chartFolder('portcullis-crds'), 'templates'),
    ])
    const chart = chartFolder('portcullis')
    cluster.helm(['install', 'portcullis', chart, '--namespace', 'portcullis-system'])
    const args = ['-n', 'portcullis-system', 'create', 'token', 'portcullis']
    token = cluster.kubectl(args).trim()
    forwarder = new Forwarder(Number(readKubeconfig(cluster.kubeconfig).server.port))
    await forwarder.open()
  })
  after(async () => {
    for (const one of started) await one.stop()
    await forwarder?.cut()
    await cluster?.close()
  })

  function start(podName: string): Started {
    const { tls } = readKubeconfig(cluster.kubeconfig)
    const server = new URL(`https://127.0.0.1:${forwarder.port}`)
    const ca = tls.ca === undefined ? {} : { ca: tls.ca }
    // With exactly the permissions that the chart grants.
    const client = new HttpsKubeClient({ server, tls: ca, token: () => token })
    let patches = 0
    const delivery = new HeldModels()
    const lines: string[] = []
    const controller = new Controller({
      client: {
        request: (method, path, request) => {
          if (method !== 'GET' && !path.includes('/leases')) patches++
          return client.request(method, path, request)
        },
        watch: (...args) => client.watch(...args),
      },
      options: readOptions({ POD_NAME: podName, POD_NAMESPACE: 'portcullis-system' }),
      settings: defaultSettings(),
      delivery,
      log: createLogger({ format: 'text', level: 'debug', write: (line) => lines.push(line) }),
      metrics: createMetrics(),
      backoff: { min: 50, max: 500 },
      leaseDuration: 3,
    })
    controller.start()
    const stop = async () => {
      await controller.stop()
      client.close()
    }
    const made = { controller, delivery, writes: () => patches, stop }
    started.push(made)
    return made
  }

  /** Waits until the status of an object satisfies `look`. */
  async function statusOf<T>(path: string, look: (status: never) => T | undefined): Promise<T> {
    let last: unknown
    return eventually(
      async () => {
        const { body } = await cluster.ask('GET', path)
        last = body['status']
        return body['status'] === undefined ? undefined : look(body['status'] as never)
      },
      `a status of ${path}`,
      20,
    ).catch((error) => {
      throw new Error(`${error.message}: ${JSON.stringify(last)}`)
    })
  }

  type Conditions = readonly {
    readonly type: string
    readonly status: string
    readonly reason: string
    readonly message: string
    readonly observedGeneration?: number
  }[]
  interface WithAncestors {
    readonly ancestors?: readonly { readonly conditions: Conditions }[]
  }
  interface WithParents {
    readonly parents?: readonly { readonly conditions: Conditions }[]
  }
  const short = (conditions: Conditions = []) =>
    Object.fromEntries(conditions.map(({ type, status, reason }) => [type, `${status} ${reason}`]))
  const when = (conditions: Conditions | undefined, type: string, value: string) => {
    const found = short(conditions)
    return found[type] === value ? found : undefined
  }
  const ofPolicy = (name: string, type: string, value: string, namespace = 'apps') =>
    statusOf(
      `${POLICIES}/namespaces/${namespace}/proxypolicies/${name}`,
      ({ ancestors }: WithAncestors) => when(ancestors?.[0]?.conditions, type, value),
    )
  const ofRoute = (kind: string, name: string, type: string, value: string) =>
    statusOf(`${GATEWAY}/namespaces/apps/${kind}/${name}`, ({ parents }: WithParents) =>
      when(parents?.[0]?.conditions, type, value),
    )
  const apply = (text: string) => cluster.kubectl(['apply', '--server-side', '-f', '-'], text)
  const applyCase = (name: string) => apply(readFileSync(join(CASES, `${name}.yaml`), 'utf8'))

  it('is ready without the definitions of the Gateway API', async () => {
    const { controller } = start('first')
    await eventually(async () => controller.isReady || undefined, 'readiness', 20)
    assert.deepEqual(controller.waitingFor, [])
  })

  it('discovers kinds when their definitions appear, and creates its class', async () => {
    for (const file of gatewayApiDefinitions('experimental')) {
      cluster.kubectl(['apply', '--server-side', '-f', file])
    }
    const found = await statusOf(
      `${GATEWAY}/gatewayclasses/portcullis`,
      ({ conditions }: { conditions: Conditions }) => when(conditions, 'Accepted', 'True Accepted'),
    )
    assert.equal(found['Accepted'], 'True Accepted')
  })

  it('the examples of the specification about requests are accepted and attached', async () => {
    applyCase('specification-http')
    for (const name of ['allow-alice', 'require-internal', 'only-get']) {
      const found = await ofPolicy(name, 'RulesHealthy', 'True Healthy')
      assert.deepEqual(
        [found['Accepted'], found['Attached'], found['Programmed']],
        ['True Accepted', 'True Attached', 'False AddressNotAssigned'],
      )
    }
    await ofRoute('httproutes', 'orders', 'ResolvedRefs', 'True ResolvedRefs')
    const listeners = await statusOf(
      `${GATEWAY}/namespaces/apps/gateways/edge`,
      (status: { listeners?: readonly { attachedRoutes: number }[] }) =>
        status.listeners?.[0]?.attachedRoutes === 1 ? status.listeners : undefined,
    )
    assert.equal(listeners.length, 1)
    const model = started[0]?.delivery.models.get('apps/edge')
    assert.deepEqual(
      model?.routes.map(({ name }) => name),
      ['HTTPRoute/apps/orders'],
    )
  })

  it('so is the example about network authorization', async () => {
    applyCase('specification-network')
    await ofPolicy('sni', 'Accepted', 'True Accepted', 'portcullis-system')
    await ofRoute('tlsroutes', 'httpbin', 'Accepted', 'True Accepted')
  })

  it('a rule that reads an attribute that is never set is accepted, attached and not healthy', async () => {
    apply(`
apiVersion: portcullis.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: blind, namespace: apps }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: orders }]
  traffic: { authorization: { action: Require, policy: { matchExpressions: ["apiKey.team == 'eng'"] } } }
`)
    const found = await ofPolicy('blind', 'RulesHealthy', 'False NeverMatches')
    assert.deepEqual([found['Accepted'], found['Attached']], ['True Accepted', 'True Attached'])
    cluster.kubectl(['-n', 'apps', 'delete', 'proxypolicy', 'blind'])
  })

  it('an invalid expression is rejected with its place', async () => {
    apply(`
apiVersion: portcullis.dev/v1alpha1
kind: ProxyPolicy
metadata: { name: wrong, namespace: apps }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: Gateway, name: edge }]
  traffic: { authorization: { action: Allow, policy: { matchExpressions: ["source.address == '10.0.0.0/8'"] } } }
`)
    const message = await statusOf(
      `${POLICIES}/namespaces/apps/proxypolicies/wrong`,
      ({ ancestors }: WithAncestors) =>
        ancestors?.[0]?.conditions.find(
          ({ type, status }) => type === 'Accepted' && status === 'False',
        )?.message,
    )
    assert.match(
      message,
      /^spec\.traffic\.authorization\.policy\.matchExpressions\[0\]:1:1: .*PC0107/,
    )
    cluster.kubectl(['-n', 'apps', 'delete', 'proxypolicy', 'wrong'])
  })

  it('access ends with the ReferenceGrant', async () => {
    applyCase('reference-grants')
    await ofRoute('httproutes', 'cross', 'ResolvedRefs', 'False RefNotPermitted')
    const isInvalid = () =>
      started[0]?.delivery.models
        .get('apps/edge')
        ?.backends.some(({ name }) => name === 'Service/shop/granted/80') === false || undefined
    assert.equal(isInvalid(), undefined)
    cluster.kubectl(['-n', 'shop', 'delete', 'referencegrant', 'grant'])
    await eventually(async () => isInvalid(), 'the end of the access', 20)
  })

  it('nothing is written at rest', async () => {
    const [first] = started as [Started]
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const before = first.writes()
    await new Promise((resolve) => setTimeout(resolve, 4_000))
    assert.equal(first.writes(), before)
  })

  it('a detached route keeps none of our status', async () => {
    const patch = JSON.stringify({ spec: { parentRefs: [{ name: 'nowhere' }] } })
    cluster.kubectl(['-n', 'apps', 'patch', 'httproute', 'cross', '--type=merge', '-p', patch])
    await statusOf(`${GATEWAY}/namespaces/apps/httproutes/cross`, ({ parents }: WithParents) =>
      parents?.length === 0 ? true : undefined,
    )
  })

  it('catches up after an outage of the API server', async () => {
    await forwarder.cut()
    const patch = JSON.stringify({ spec: { hostnames: ['other.example.com'] } })
    cluster.kubectl(['-n', 'apps', 'patch', 'httproute', 'orders', '--type=merge', '-p', patch])
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    const served = () => started[0]?.delivery.models.get('apps/edge')?.routes[0]?.hostnames
    assert.deepEqual(served(), ['orders.example.com'])
    await forwarder.open()
    await eventually(
      async () => served()?.includes('other.example.com') || undefined,
      'the change',
      20,
    )
  })

  it('another replica takes over when the leader stops', async () => {
    const [first] = started as [Started]
    const second = start('second')
    await eventually(async () => second.controller.isReady || undefined, 'readiness', 20)
    await eventually(async () => first.controller.isLeader || undefined, 'a leader', 20)
    assert.equal(second.controller.isLeader, false)
    await first.stop()
    await eventually(async () => second.controller.isLeader || undefined, 'another leader', 20)
  })

  it('runs as a program, and logs when it is ready', async () => {
    const [xds, health = 0, metrics = 0] = await freePorts(3)
    const child = spawn(process.execPath, [CONTROLLER], {
      env: {
        ...process.env,
        KUBECONFIG: cluster.kubeconfig,
        POD_NAME: 'program',
        POD_NAMESPACE: 'portcullis-system',
        PORTCULLIS_XDS_PORT: String(xds),
        PORTCULLIS_HEALTH_PORT: String(health),
        PORTCULLIS_METRICS_PORT: String(metrics),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.resume()
    const read = async (port: number, path: string) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined)
      return response?.status === 200 ? response.text() : undefined
    }
    assert.equal(await eventually(() => read(health, '/readyz'), 'readiness', 120), 'ready\n')
    const text = await eventually(() => read(metrics, '/metrics'), 'metrics', 10)
    assert.match(text, /portcullis_controller_objects\{kind="ProxyPolicy"\} [1-9]/)
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit')
    assert.equal(code, 0)
  })
})
