import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
import { CONTROL_PLANE_CASES } from '../charts/control-plane-cases.ts'
import { type Chart, chartFolder, readObjects, renderText, type Values } from '../charts/helm.ts'
import { STANDALONE_CASES } from '../charts/standalone-cases.ts'
import { type LandingCase, merge, setAt } from '../charts/values.ts'
import { type Cluster, missing, startCluster } from './harness.ts'
import {
  INVALID_BACKENDS,
  INVALID_MODELS,
  INVALID_PARAMETERS,
  INVALID_POLICIES,
  VALID_BACKENDS,
  VALID_MODELS,
  VALID_PARAMETERS,
  VALID_POLICIES,
} from './resources.ts'

const reason = missing()
const options = reason === undefined ? {} : { skip: reason }
const DEFINITIONS = join(chartFolder('portcullis-crds'), 'templates')
const NAMESPACE = 'shop'

/** Not valid on their own: Service fields are covered by SERVICES, the others by a rendering. */
const ELSEWHERE = new RegExp(
  [
    'clusterIPs?|externalName|externalTrafficPolicy|ipFamilies|ipFamilyPolicy|healthCheckNodePort',
    'loadBalancerClass|sessionAffinityConfig|allocateLoadBalancerNodePorts|loadBalancerIP',
    'loadBalancerSourceRanges|trafficDistribution|extraVolumeMounts|fullnameOverride|extraServices',
  ].join('|'),
)

/** Every field of a Service, with the other fields that it requires. */
const SERVICES: readonly Values[] = [
  { type: 'ClusterIP', clusterIP: 'None', sessionAffinity: 'None' },
  {
    type: 'ClusterIP',
    clusterIP: '10.96.77.7',
    clusterIPs: ['10.96.77.7'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  },
  {
    type: 'ClusterIP',
    sessionAffinity: 'ClientIP',
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    internalTrafficPolicy: 'Local',
  },
  { type: 'NodePort', externalTrafficPolicy: 'Local', trafficDistribution: 'PreferClose' },
  {
    type: 'LoadBalancer',
    loadBalancerClass: 'example.com/internal',
    loadBalancerIP: '192.0.2.7',
    loadBalancerSourceRanges: ['10.0.0.0/8'],
    allocateLoadBalancerNodePorts: false,
    externalTrafficPolicy: 'Local',
    healthCheckNodePort: 31_500,
    publishNotReadyAddresses: true,
  },
  { type: 'ExternalName', externalName: 'gateway.example.com' },
]

describe('a real API server', options, () => {
  let cluster: Cluster

  before(async () => {
    cluster = await startCluster()
    // An API server that has just become ready may still fail a request or two.
    for (let left = 2; ; left--) {
      try {
        setUp()
        break
      } catch (error) {
        if (left === 0) throw error
        await new Promise((resolve) => setTimeout(resolve, 2_000))
      }
    }
  })

  function setUp(): void {
    for (const name of [NAMESPACE, 'team-a', 'team-b', 'a', 'b']) {
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
      cluster.kubectl(['apply', '-f', '-'], JSON.stringify(namespace))
    }
    cluster.kubectl(['apply', '-f', join(import.meta.dirname, 'monitoring-crds.yaml')])
    const chart = ['portcullis-crds', chartFolder('portcullis-crds'), '--namespace', NAMESPACE]
    cluster.helm(['upgrade', '--install', ...chart])
    cluster.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s'])
  }

  after(() => cluster?.close())

  describe('definitions', () => {
    for (const file of readdirSync(DEFINITIONS)) {
      it(`${file} fits into the annotation of client-side apply`, () => {
        // The annotation contains it as JSON, and all annotations of the object are limited to 256
        // KiB.
        const { length } = JSON.stringify(parse(readFileSync(join(DEFINITIONS, file), 'utf8')))
        assert.ok(length < 248 * 1024, `${length} bytes`)
        cluster.kubectl([
          'apply',
          '--dry-run=server',
          '--force-conflicts=false',
          '-f',
          join(DEFINITIONS, file),
        ])
      })

      it(`${file} has nothing that the API server would complain about`, async () => {
        const { metadata } = parse(readFileSync(join(DEFINITIONS, file), 'utf8'))
        const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${metadata.name}`
        const { body } = await cluster.ask('GET', path)
        const { conditions } = body['status'] as { conditions: { type: string; status: string }[] }
        const of = (type: string) => conditions.find((one) => one.type === type)?.status
        assert.deepEqual(
          [of('Established'), of('NamesAccepted'), of('NonStructuralSchema')],
          ['True', 'True', undefined],
        )
      })
    }

    it('short names and the category resolve to the kinds', () => {
      for (const name of ['ppol', 'pbe', 'ppar', 'pmodel', 'portcullis'])
        cluster.kubectl(['get', name])
    })

    it('columns show the status of a policy', async () => {
      const path = `/apis/portcullis.dev/v1alpha1/namespaces/${NAMESPACE}/proxypolicies`
      const spec = VALID_POLICIES['traffic.authorization with one Allow']
      const made = await cluster.ask('POST', path, {
        apiVersion: 'portcullis.dev/v1alpha1',
        kind: 'ProxyPolicy',
        metadata: { name: 'told' },
        spec,
      })
      assert.equal(made.status, 201, made.body.message ?? '')
      const condition = {
        type: 'Accepted',
        status: 'True',
        reason: 'Valid',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      }
      const status = {
        ancestors: [
          {
            ancestorRef: { name: 'edge' },
            controllerName: 'portcullis.dev/controller',
            conditions: [condition],
          },
        ],
      }
      const written = await cluster.ask('PUT', `${path}/told/status`, { ...made.body, status })
      assert.equal(written.status, 200, written.body.message ?? '')
      assert.match(
        cluster.kubectl(['-n', NAMESPACE, 'get', 'ppol', 'told']),
        /NAME +KIND +TARGET +ACCEPTED +ATTACHED +HEALTHY +PROGRAMMED +AGE\ntold +Gateway +edge +True/,
      )
    })
  })

  for (const [kind, plural, valid, invalid] of [
    ['ProxyPolicy', 'proxypolicies', VALID_POLICIES, INVALID_POLICIES],
    ['ProxyBackend', 'proxybackends', VALID_BACKENDS, INVALID_BACKENDS],
    ['ProxyParameters', 'proxyparameters', VALID_PARAMETERS, INVALID_PARAMETERS],
    ['ProxyModel', 'proxymodels', VALID_MODELS, INVALID_MODELS],
  ] as const) {
    const create = (spec: unknown) => {
      const path = `/apis/portcullis.dev/v1alpha1/namespaces/${NAMESPACE}/${plural}?dryRun=All&fieldValidation=Strict`
      const object = {
        apiVersion: 'portcullis.dev/v1alpha1',
        kind,
        metadata: { name: 'tried' },
        spec,
      }
      return cluster.ask('POST', path, object)
    }

    describe(kind, () => {
      for (const [what, spec] of Object.entries(valid)) {
        it(`takes ${what}`, async () => {
          const { status, body } = await create(spec)
          assert.equal(status, 201, body.message ?? '')
        })
      }

      for (const [what, [spec, message]] of Object.entries(invalid)) {
        it(`rejects ${what}`, async () => {
          const { status, body } = await create(spec)
          assert.ok(status >= 400 && status < 500, `it was taken: ${status}`)
          assert.match(body.message ?? '', message)
        })
      }

      it('rejects an object without a spec', async () => {
        assert.match((await create(undefined)).body.message ?? '', /spec: Required value/)
      })
    })
  }

  describe('rendered objects', () => {
    for (const [chart, cases] of [
      ['portcullis-standalone', STANDALONE_CASES],
      ['portcullis', CONTROL_PLANE_CASES],
    ] as const) {
      it(`${chart}: with every value set on its own, the API server takes them`, () => {
        const objects = distinct(cases.filter(isAlone).map(valuesOf)).flatMap((values, index) => {
          return renderedAs(chart, values, `edge-${index}`)
        })
        cluster.dryRun(objects)
      })
    }

    it('examples/kubernetes: the API server accepts them', () => {
      const path = join(import.meta.dirname, '../../examples/kubernetes/policies.yaml')
      cluster.dryRun(readObjects(readFileSync(path, 'utf8')))
    })

    for (const [index, service] of SERVICES.entries()) {
      it(`a service with ${JSON.stringify(service)}: the API server takes it`, () => {
        cluster.dryRun([
          ...renderedAs('portcullis-standalone', { gateway: { service } }, `edge-${index}`),
          ...renderedAs('portcullis', { controller: { service } }, `plane-${index}`),
        ])
      })
    }

    it('gateway.extraServices: the API server accepts them', () => {
      const extraServices = [{ name: 'admin', type: 'ClusterIP', ports: [{ port: 8080 }] }]
      cluster.dryRun(renderedAs('portcullis-standalone', { gateway: { extraServices } }, 'edge'))
    })

    const folder = join(import.meta.dirname, '../charts/renderings')
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.values.yaml'))) {
      it(`${file}: the API server takes them`, () => {
        const chart = file.startsWith('portcullis-standalone')
          ? 'portcullis-standalone'
          : 'portcullis'
        const values = parse(readFileSync(join(folder, file), 'utf8'))
        cluster.dryRun(renderedAs(chart, values, 'edge'))
      })
    }
  })
})

function isAlone([key]: LandingCase): boolean {
  return !ELSEWHERE.test(key)
}

function valuesOf([key, value, , , rest = {}]: LandingCase): Values {
  return merge(rest.with ?? {}, setAt(key, value))
}

function distinct(all: readonly Values[]): readonly Values[] {
  return [...new Map(all.map((values) => [JSON.stringify(values), values])).values()]
}

function renderedAs(chart: Chart, values: Values, name: string) {
  return readObjects(renderText(chart, values, { name, namespace: NAMESPACE }))
}
