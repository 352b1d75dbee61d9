// Pools of models behind endpoint pickers, and hosts outside the cluster: backends whose
// definitions are installed when the controller already runs.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { type Picker, picks, startPicker } from '../proxy/endpoint-picker.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { GATEWAY_API, ownAddress, type Plane } from './plane.ts'

const POOLS = '/apis/inference.networking.k8s.io/v1/namespaces/apps/inferencepools'
const EXTERNAL = '/apis/gateway.networking.x-k8s.io/v1alpha1/namespaces/apps/xbackends'

export function describeInference(planeHere: () => Plane): void {
  describe('models in the cluster', () => {
    let plane: Plane
    let picker: Picker
    let port = 0
    let pods: readonly [number, number] = [0, 0]

    before(async () => {
      plane = planeHere()
      picker = await startPicker(ownAddress)
      port = plane.take()
      pods = [
        await plane.serve((_, response) => response.end('first')),
        await plane.serve((_, response) => response.end('second')),
      ]
      plane.apply(
        {
          apiVersion: 'gateway.networking.k8s.io/v1',
          kind: 'Gateway',
          metadata: { name: 'models', namespace: 'apps' },
          spec: {
            gatewayClassName: 'portcullis',
            listeners: [{ name: 'http', protocol: 'HTTP', port }],
          },
        },
        routeTo('pool', '/pool', {
          group: 'inference.networking.k8s.io',
          kind: 'InferencePool',
          name: 'llama',
        }),
      )
      await plane.giveAddress('models')
      await plane.startProxy('models')
    })
    after(() => picker?.close())

    const ask = (path: string) =>
      fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body: '{}' }).then(
        async (response) => `${response.status} ${await response.text()}`,
      )

    it('a pool whose definition is missing is reported, and its requests get a 500', async () => {
      await plane.conditions(`${GATEWAY_API}/namespaces/apps/httproutes/pool`, {
        ResolvedRefs: 'False BackendNotFound',
      })
      assert.match(await ask('/pool'), /^500/)
    })

    it('a pool is served by the endpoints that its picker chooses, and reports it', async () => {
      plane.apply(readFileSync(join(import.meta.dirname, 'inference-pools.yaml'), 'utf8'))
      await plane.cluster.established('inferencepools.inference.networking.k8s.io')
      plane.apply(...podOf('llama-1'), ...pickerService(picker.port), {
        apiVersion: 'inference.networking.k8s.io/v1',
        kind: 'InferencePool',
        metadata: { name: 'llama', namespace: 'apps' },
        spec: {
          selector: { matchLabels: { app: 'llama' } },
          targetPorts: pods.map((number) => ({ number })),
          endpointPickerRef: { name: 'picker', port: { number: 9002 } },
        },
      })
      const status = {
        phase: 'Running',
        podIP: ownAddress,
        podIPs: [{ ip: ownAddress }],
        conditions: [{ type: 'Ready', status: 'True' }],
      }
      const path = '/api/v1/namespaces/apps/pods/llama-1/status'
      const { status: code } = await plane.cluster.ask(
        'PATCH',
        path,
        { status },
        'application/merge-patch+json',
      )
      assert.equal(code, 200)
      await plane.conditions(
        `${POOLS}/llama`,
        { Accepted: 'True Accepted', ResolvedRefs: 'True ResolvedRefs' },
        60,
      )
      await plane.conditions(`${GATEWAY_API}/namespaces/apps/httproutes/pool`, {
        ResolvedRefs: 'True ResolvedRefs',
      })
      let wanted = 0
      picker.decide = ({ body }) => picks(`${ownAddress}:${pods[wanted]}`, body)
      const served = async () => ((await ask('/pool')) === '200 first' ? true : undefined)
      await eventuallyServed(served)
      for (const [index, text] of ['first', 'second', 'first', 'second'].entries()) {
        wanted = index % 2
        assert.equal(await ask('/pool'), `200 ${text}`)
      }
      picker.decide = ({ body }) => picks('192.0.2.9:80', body)
      assert.match(await ask('/pool'), /^503/)
    })

    it('a pool without a picker reports it, and its requests get a 500', async () => {
      plane.cluster.kubectl(['-n', 'apps', 'delete', 'service', 'picker'])
      const { ResolvedRefs } = await plane.conditions(`${POOLS}/llama`, {
        ResolvedRefs: 'False InvalidExtensionRef',
      })
      assert.equal(ResolvedRefs?.message, 'Service apps/picker not found')
      await eventuallyServed(async () =>
        (await ask('/pool')).startsWith('500') ? true : undefined,
      )
    })

    it('a host outside the cluster reports how it is served', async () => {
      const [file = ''] = gatewayApiDefinitions('experimental')
      const definition = join(dirname(file), 'gateway.networking.x-k8s.io_xbackends.yaml')
      plane.cluster.kubectl(['apply', '--server-side', '-f', definition])
      await plane.cluster.established('xbackends.gateway.networking.x-k8s.io')
      const backend = (name: string, protocol: string) => ({
        apiVersion: 'gateway.networking.x-k8s.io/v1alpha1',
        kind: 'XBackend',
        metadata: { name, namespace: 'apps' },
        spec: {
          type: 'ExternalHostname',
          port: { port: 80 },
          externalHostname: { hostname: 'example.com' },
          protocol,
        },
      })
      const ref = (name: string) => ({
        group: 'gateway.networking.x-k8s.io',
        kind: 'XBackend',
        name,
      })
      plane.apply(
        backend('outside', 'HTTP'),
        backend('tools', 'MCP'),
        routeTo('outside', '/outside', ref('outside')),
        routeTo('tools', '/tools', ref('tools')),
      )
      await plane.conditions(`${EXTERNAL}/outside`, { Accepted: 'True Accepted' }, 60)
      await plane.conditions(`${EXTERNAL}/tools`, { Accepted: 'False UnsupportedProtocol' }, 60)
    })
  })
}

/** A change is delivered a moment after it is written. */
async function eventuallyServed(look: () => Promise<true | undefined>): Promise<void> {
  for (const end = Date.now() + 60_000; Date.now() < end; ) {
    if ((await look()) === true) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.fail('not served in a minute')
}

function routeTo(name: string, path: string, ref: object): object {
  const matches = [{ path: { type: 'PathPrefix', value: path } }]
  return {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'HTTPRoute',
    metadata: { name, namespace: 'apps' },
    spec: { parentRefs: [{ name: 'models' }], rules: [{ matches, backendRefs: [ref] }] },
  }
}

function podOf(name: string): readonly object[] {
  const metadata = { name, namespace: 'apps', labels: { app: 'llama' } }
  const spec = { containers: [{ name: 'server', image: 'example.com/server' }] }
  return [{ apiVersion: 'v1', kind: 'Pod', metadata, spec }]
}

function pickerService(port: number): readonly object[] {
  const labels = { 'kubernetes.io/service-name': 'picker' }
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'picker', namespace: 'apps' },
      spec: { ports: [{ name: 'grpc', port: 9002, appProtocol: 'kubernetes.io/h2c' }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'picker-1', namespace: 'apps', labels },
      addressType: 'IPv4',
      ports: [{ name: 'grpc', port }],
      endpoints: [{ addresses: [ownAddress] }],
    },
  ]
}
