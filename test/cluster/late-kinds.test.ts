// A controller that starts in a cluster without any definition of a kind, and gets one after the
// other: none requires another one first.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { KINDS } from '../../src/controller/cluster/kinds.ts'
import { chartFolder } from '../charts/helm.ts'
import { freePorts } from '../free-port.ts'
import { gatewayApiDefinitions } from './gateway-api.ts'
import { type Cluster, eventually, missing, startCluster } from './harness.ts'
import { MESH, OBJECTS, PARAMETERS } from './one-of-each.ts'
import { bringCertificate } from './plane.ts'
import { Programs, SYSTEM } from './programs.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }
const LATE = KINDS.filter(({ isOptional }) => isOptional)

interface Written {
  readonly kind: string
}

const grant = {
  apiVersion: 'gateway.networking.k8s.io/v1beta1',
  kind: 'ReferenceGrant',
  metadata: { name: 'all', namespace: 'shop' },
  spec: {
    from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'apps' }],
    to: [{ group: '', kind: 'Service' }],
  },
}

const pool = {
  apiVersion: 'inference.networking.k8s.io/v1',
  kind: 'InferencePool',
  metadata: { name: 'all', namespace: 'shop' },
  spec: {
    selector: { matchLabels: { app: 'model' } },
    targetPorts: [{ number: 8000 }],
    endpointPickerRef: { name: 'picker', port: { number: 9002 } },
  },
}

const external = {
  apiVersion: 'gateway.networking.x-k8s.io/v1alpha1',
  kind: 'XBackend',
  metadata: { name: 'all', namespace: 'shop' },
  spec: {
    type: 'ExternalHostname',
    port: { port: 80 },
    externalHostname: { hostname: 'example.com' },
    protocol: 'HTTP',
  },
}

const mesh = ['ServiceEntry', 'WorkloadEntry'].map((kind) => ({
  apiVersion: 'networking.istio.io/v1',
  kind,
  metadata: { name: 'all', namespace: 'shop' },
  spec: { hosts: ['example.com'] },
}))

describe('kinds that appear after the controller has started', options, () => {
  let cluster: Cluster
  let programs: Programs
  const objects = [...OBJECTS, PARAMETERS, grant, pool, external, ...mesh] as readonly Written[]

  before(async () => {
    cluster = await startCluster()
    for (const name of ['shop', SYSTEM]) cluster.createNamespace(name)
    const enabled = { enabled: true }
    cluster.helm(['install', 'portcullis', chartFolder('portcullis'), '--namespace', SYSTEM], {
      inferenceExtension: enabled,
      xBackend: enabled,
      istio: enabled,
    })
    bringCertificate(cluster)
    const [port = 0] = await freePorts(3)
    programs = new Programs(cluster, port)
    await programs.startController({
      env: {
        PORTCULLIS_INFERENCE_EXTENSION_ENABLED: 'true',
        PORTCULLIS_XBACKEND_ENABLED: 'true',
      },
    })
  })
  after(async () => {
    await programs?.close()
    await cluster?.close()
  })

  const count = async (kind: string): Promise<number> => {
    const name = `portcullis_controller_objects{kind="${kind}"}`
    const line = (await programs.metrics()).split('\n').find((one) => one.startsWith(name))
    return Number(line?.split(' ')[1] ?? 0)
  }

  /** By kind; a definition is a manifest for kubectl. */
  function definitions(): ReadonlyMap<string, string> {
    const files = [
      ...gatewayApiDefinitions('experimental'),
      ...['proxybackends', 'proxymodels', 'proxyparameters', 'proxypolicies'].map((plural) =>
        join(chartFolder('portcullis-crds'), `templates/portcullis.dev_${plural}.yaml`),
      ),
      join(import.meta.dirname, 'inference-pools.yaml'),
    ]
    const folder = dirname(gatewayApiDefinitions('experimental')[0] as string)
    files.push(join(folder, 'gateway.networking.x-k8s.io_xbackends.yaml'))
    const texts = [
      ...files.map((file) => readFileSync(file, 'utf8')),
      ...MESH.map((one) => JSON.stringify(one)),
    ]
    return new Map(texts.map((text) => [parse(text).spec.names.kind as string, text]))
  }

  // In reverse order: a route before its Gateway, a Gateway before its class.
  for (const { kind } of LATE.toReversed()) {
    it(`${kind} is picked up`, async () => {
      assert.equal(await count(kind), 0)
      const text = definitions().get(kind)
      assert.ok(text !== undefined, `a definition of ${kind}`)
      cluster.kubectl(['apply', '--server-side', '-f', '-'], text)
      // The controller creates its own class.
      const object = objects.find((one) => one.kind === kind)
      assert.ok(object !== undefined || kind === 'GatewayClass', `an object of ${kind}`)
      // Fails until the definition is established.
      const isWritten = async () => {
        if (object === undefined) return true
        try {
          cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(object))
          return true
        } catch {
          return undefined
        }
      }
      await eventually(isWritten, `an object of ${kind}`)
      const isSeen = async () => ((await count(kind)) === 1 ? true : undefined)
      await eventually(isSeen, `the ${kind} in the controller`, 60)
    })
  }

  it('all of them together are served', async () => {
    const path = '/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/all'
    cluster.kubectl(['apply', '--server-side', '-f', '-'], JSON.stringify(OBJECTS[0]))
    await eventually(async () => {
      const { body } = await cluster.ask('GET', path)
      const { parents = [] } = (body['status'] ?? {}) as {
        readonly parents?: readonly {
          readonly conditions: readonly { readonly type: string; readonly status: string }[]
        }[]
      }
      const good = parents[0]?.conditions.filter(({ status }) => status === 'True') ?? []
      return good.length === 2 || undefined
    }, 'an accepted route with its backend')
  })
})
