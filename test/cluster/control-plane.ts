import assert from 'node:assert/strict'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { chartFolder } from '../charts/helm.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { type Cluster, eventually } from './harness.ts'
import { startLoad } from './load.ts'
import { type PodList, podName } from './pods.ts'
import { PROVIDER, tokenOf } from './tokens.ts'

const SYSTEM = 'control-plane'
const APPS = 'gateways'
const IN_APPS = ['-n', APPS] as const

/** The control plane as a user installs it: two charts, a Gateway, a route, a policy. */
export function describeControlPlane(clusterHere: () => Cluster): void {
  describe('the control plane', () => {
    let cluster: Cluster
    let address = ''
    before(() => {
      cluster = clusterHere()
      for (const name of [SYSTEM, APPS]) cluster.createNamespace(name)
    })

    const apply = (text: string) => cluster.kubectl(['apply', '--server-side', '-f', '-'], text)
    const ask = (headers: Readonly<Record<string, string>> = {}) =>
      fetch(`http://${address}/`, { headers, signal: AbortSignal.timeout(10_000) }).then(
        async (response) => {
          await response.arrayBuffer()
          return response.status
        },
        () => 0,
      )
    const becomes = (status: number, headers: Readonly<Record<string, string>> = {}) =>
      eventually(
        async () => ((await ask(headers)) === status ? true : undefined),
        `${status}`,
        30,
      ).catch((error) => {
        const logs = cluster.kubectl(['-n', APPS, 'logs', 'deployment/web', '--tail=50'])
        throw new Error(`${error.message}\n${cluster.logs(SYSTEM, 'portcullis')}\n${logs}`)
      })

    it('helm install: the controller runs, and creates its class', () => {
      const definitions = join(chartFolder('portcullis-crds'), 'templates')
      for (const file of [definitions, ...gatewayApiDefinitions('experimental')]) {
        cluster.kubectl(['apply', '--server-side', '-f', file])
      }
      const wait = ['--wait', '--timeout', '120s']
      const chart = chartFolder('portcullis')
      cluster.helm(['install', 'portcullis', chart, '--namespace', SYSTEM, ...wait])
      cluster.kubectl([
        'wait',
        '--for=condition=Accepted',
        'gatewayclass/portcullis',
        '--timeout=30s',
      ])
    })

    it('a Gateway gets a proxy, which serves its routes', async () => {
      const standalone = chartFolder('portcullis-standalone')
      const args = ['install', 'behind', standalone, '--namespace', APPS, '--wait']
      cluster.helm([...args, '--timeout', '120s'], {
        gateway: { service: { type: 'ClusterIP' } },
      })
      apply(`
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: web, namespace: ${APPS} }
spec:
  gatewayClassName: portcullis
  listeners: [{ name: http, protocol: HTTP, port: 80 }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: web, namespace: ${APPS} }
spec:
  parentRefs: [{ name: web }]
  rules: [{ backendRefs: [{ name: behind, port: 80 }] }]
`)
      const wait = ['wait', '--for=condition=Programmed', 'gateway/web', '--timeout=90s']
      try {
        cluster.kubectl(['-n', APPS, ...wait])
      } catch (error) {
        const { message } = error as Error
        const seen = cluster.kubectl(['-n', APPS, 'describe', 'gateways,pods'])
        throw new Error(`${message}\n${cluster.logs(SYSTEM, 'portcullis')}\n${seen}`)
      }
      address = await cluster.balancerAddress(APPS, 'web')
      await becomes(200)
    })

    const parameters = (spec: object) =>
      apply(
        JSON.stringify({
          apiVersion: 'portcullis.dev/v1alpha1',
          kind: 'ProxyParameters',
          metadata: { name: 'web', namespace: APPS },
          spec: { shutdown: { min: 1, max: 10 }, ...spec },
        }),
      )
    const rolledOut = () =>
      cluster.kubectlBeside([...IN_APPS, 'rollout', 'status', 'deployment/web', '--timeout=120s'])
    /** The users that the proxies of all pods run as; empty if a pod cannot be queried. */
    const users = async (): Promise<readonly string[]> => {
      const label = 'gateway.networking.k8s.io/gateway-name=web'
      const list = await cluster.kubectlBeside([
        ...IN_APPS,
        'get',
        'pods',
        '-l',
        label,
        '-o',
        'json',
      ])
      const living = (JSON.parse(list) as PodList).items.filter(
        ({ metadata }) => metadata.deletionTimestamp === undefined,
      )
      const ask = ['--', 'node', '--eval', 'console.log(process.getuid())']
      const asked = living.map((pod) =>
        cluster.kubectlBeside([...IN_APPS, 'exec', podName(pod), ...ask]),
      )
      return Promise.all(asked).then(
        (all) => all.map((text) => text.trim()),
        () => [],
      )
    }

    it('proxies are replaced under load without a failed request, also by ones with another user', async () => {
      const overlay = (spec: object) => ({ deployment: { spec: { replicas: 2, ...spec } } })
      parameters(overlay({}))
      const parametersRef = { group: 'portcullis.dev', kind: 'ProxyParameters', name: 'web' }
      const patch = JSON.stringify({ spec: { infrastructure: { parametersRef } } })
      cluster.kubectl(['-n', APPS, 'patch', 'gateway', 'web', '--type=merge', '-p', patch])
      const areTwo = async () => ((await users()).length === 2 ? true : undefined)
      await eventually(areTwo, 'two proxies', 90)
      await rolledOut()
      const load = startLoad(address, '/', { keepAlive: false })
      // As on OpenShift: a user from the namespace's range, which no image defines.
      const securityContext = { runAsUser: 1_000_650_000, fsGroup: 1_000_650_000 }
      parameters(overlay({ template: { spec: { securityContext } } }))
      const isReplaced = async () => {
        const all = await users()
        return all.length === 2 && all.every((user) => user === '1000650000') ? true : undefined
      }
      await eventually(isReplaced, 'proxies of the other user', 120)
      await rolledOut()
      const { served, failed } = await load.stop()
      assert.deepEqual(failed, [])
      assert.ok(served > 100, `${served} requests were served`)
    })

    it('a policy is enforced', async () => {
      const spec = {
        targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'web' }],
        traffic: {
          jwtAuthentication: { mode: 'Strict', providers: [PROVIDER] },
          authorization: {
            action: 'Allow',
            policy: { matchExpressions: ["jwt.sub == 'alice'"] },
          },
        },
      }
      const metadata = { name: 'alice', namespace: APPS }
      const kind = 'ProxyPolicy'
      apply(JSON.stringify({ apiVersion: 'portcullis.dev/v1alpha1', kind, metadata, spec }))
      await becomes(401)
      const as = (sub: string) => ({ authorization: `Bearer ${tokenOf({ sub })}` })
      await becomes(200, as('alice'))
      assert.equal(await ask(as('bob')), 403)
    })

    it('deployed objects are deleted with the Gateway', async () => {
      cluster.kubectl(['-n', APPS, 'delete', 'gateway', 'web'])
      const label = 'gateway.networking.k8s.io/gateway-name=web'
      const kinds = 'deployment,service,serviceaccount,configmap,secret,pod'
      await eventually(
        async () =>
          cluster.kubectl(['-n', APPS, 'get', kinds, '-l', label, '-o', 'name']) === ''
            ? true
            : undefined,
        'an end of all objects',
        90,
      )
      cluster.helm(['uninstall', 'behind', '--namespace', APPS])
      cluster.helm(['uninstall', 'portcullis', '--namespace', SYSTEM])
    })
  })
}
