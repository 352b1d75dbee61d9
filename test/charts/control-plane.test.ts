import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { CONTROL_PLANE_CASES, CONTROL_PLANE_ELSEWHERE } from './control-plane-cases.ts'
import { CONTROL_PLANE_DEFAULTS } from './control-plane-defaults.ts'
import {
  chartFolder,
  type KubernetesObject,
  options,
  rejection,
  render,
  type Values,
} from './helm.ts'
import { describeValues } from './landing.ts'
import { at, find, merge } from './values.ts'

const CHART = 'portcullis'
const RBAC = ['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']

const ALL: Values = {
  controller: {
    podDisruptionBudget: { minAvailable: 1 },
    horizontalPodAutoscaler: { maxReplicas: 3 },
    verticalPodAutoscaler: { updatePolicy: { updateMode: 'Off' } },
  },
  monitoring: { enabled: true },
}

describeValues(CHART, {
  defaults: CONTROL_PLANE_DEFAULTS,
  cases: CONTROL_PLANE_CASES,
  elsewhere: CONTROL_PLANE_ELSEWHERE,
})

const kindsOf = (values: Values) => new Set(render(CHART, values).map(({ kind }) => kind))

describe('all objects of the control plane', options, () => {
  it('have commonLabels', () => {
    const objects = render(CHART, merge(ALL, { commonLabels: { team: 'edge' } }))
    assert.equal(objects.length, 15)
    assert.deepEqual(
      objects.filter(({ metadata }) => metadata.labels?.['team'] !== 'edge'),
      [],
    )
  })

  it('are in the namespace of the release, or have its name in their own', () => {
    for (const { kind, metadata } of render(CHART, ALL)) {
      if (kind.startsWith('Cluster')) assert.match(metadata.name, /^edge-portcullis-shop/)
      else assert.equal(metadata.namespace, 'shop', kind)
    }
  })

  for (const [key, values, kinds] of [
    ['controller.service.enabled', { controller: { service: { enabled: false } } }, ['Service']],
    [
      'serviceAccount.create',
      { serviceAccount: { create: false, name: 'mine' } },
      ['ServiceAccount'],
    ],
    ['rbac.create', { rbac: { create: false, gatewayNamespaces: ['a'] } }, RBAC],
    [
      'monitoring.enabled',
      { monitoring: { enabled: false } },
      ['ServiceMonitor', 'PodMonitor', 'ConfigMap'],
    ],
    [
      'monitoring.serviceMonitor.enabled',
      { monitoring: { serviceMonitor: { enabled: false } } },
      ['ServiceMonitor'],
    ],
    [
      'monitoring.proxy.podMonitor.enabled',
      { monitoring: { proxy: { podMonitor: { enabled: false } } } },
      ['PodMonitor'],
    ],
    [
      'monitoring.grafanaDashboard.enabled',
      { monitoring: { grafanaDashboard: { enabled: false } } },
      ['ConfigMap'],
    ],
  ] as const) {
    it(`${key} false takes away ${kinds.join(', ')} and nothing else`, () => {
      const missing = kindsOf(ALL).difference(kindsOf(merge(ALL, values as Values)))
      assert.deepEqual([...missing].sort(), [...kinds].sort())
    })
  }
})

describe('the environment of the controller', options, () => {
  const readme = readFileSync(join(chartFolder(CHART), 'README.md'), 'utf8')

  it('every variable is in the README, and every one in the README is set', () => {
    const values = {
      controllerName: 'a',
      gatewayClassName: 'a',
      gatewayClassParametersRefs: { a: { name: 'a', namespace: 'a' } },
      discoveryNamespaceSelectors: [{}],
      watchNamespaces: ['a'],
      rbac: { gatewayNamespaces: ['a'] },
      inferenceExtension: { enabled: true },
      xBackend: { enabled: true },
      istio: {
        autoEnabled: true,
        caAddress: 'a',
        clusterId: 'a',
        namespace: 'a',
        network: 'a',
        revision: 'a',
      },
      image: { tag: '1' },
    }
    const env = at(
      find(render(CHART, values), 'Deployment'),
      'spec.template.spec.containers[0].env',
    )
    const reported = (env as readonly { readonly name: string }[]).map(({ name }) => name)
    const described = Array.from(
      readme.matchAll(/`((?:PORTCULLIS|POD)_[A-Z_]+)`/g),
      ([, name]) => name,
    )
    assert.deepEqual(reported.toSorted(), [...new Set(described)].sort())
  })
})

describe('permissions', options, () => {
  const subjectOf = (object: KubernetesObject) => at(object, 'subjects[0]')

  it('an existing account is bound, too', () => {
    const values = { serviceAccount: { create: false, name: 'mine' } }
    const bindings = render(CHART, values).filter(({ kind }) => kind.endsWith('Binding'))
    assert.equal(bindings.length, 3)
    for (const binding of bindings) {
      assert.deepEqual(subjectOf(binding), {
        kind: 'ServiceAccount',
        name: 'mine',
        namespace: 'shop',
      })
    }
  })

  it('watchNamespaces: a role in each, and in the cluster only what has no namespace', () => {
    const values = { watchNamespaces: ['a', 'b', 'b'], rbac: { gatewayNamespaces: ['a'] } }
    const objects = render(CHART, values)
    const named = (kind: string) =>
      objects
        .filter((one) => one.kind === kind)
        .map(({ metadata: { name, namespace } }) => `${namespace ?? ''}/${name}`)
    const roles = ['a/edge-portcullis-shop', 'b/edge-portcullis-shop', 'shop/edge-portcullis-local']
    assert.deepEqual(named('Role'), roles)
    assert.deepEqual(named('RoleBinding'), roles)
    assert.deepEqual(named('ClusterRole'), ['/edge-portcullis-shop'])
    assert.deepEqual(named('ClusterRoleBinding'), ['/edge-portcullis-shop'])
    const rulesOf = (kind: string, namespace?: string) =>
      objects.find((one) => one.kind === kind && one.metadata.namespace === namespace)?.[
        'rules'
      ] as readonly {
        readonly resources: readonly string[]
        readonly resourceNames?: readonly string[]
        readonly verbs: readonly string[]
      }[]
    assert.deepEqual(
      rulesOf('ClusterRole').map(({ resources, resourceNames }) => [...resources, resourceNames]),
      [
        ['namespaces', ['a', 'b']],
        ['gatewayclasses', undefined],
        ['gatewayclasses/status', undefined],
        ['tokenreviews', undefined],
      ],
    )
    const deploys = (namespace: string) =>
      rulesOf('Role', namespace).some(({ resources, verbs }) => {
        return resources.includes('deployments') && verbs.includes('create')
      })
    assert.deepEqual([deploys('a'), deploys('b')], [true, false])
    // The same rules as for the whole cluster, except for what has no namespace.
    const wide = render(CHART, {}).filter(({ kind }) => kind === 'ClusterRole')
    const flat = (rules: ReturnType<typeof rulesOf>) =>
      rules.flatMap(({ resources, verbs }) =>
        resources.flatMap((one) => verbs.map((verb) => `${verb} ${one}`)),
      )
    const all = new Set(wide.flatMap((one) => flat(one['rules'] as ReturnType<typeof rulesOf>)))
    const narrow = new Set([...flat(rulesOf('ClusterRole')), ...flat(rulesOf('Role', 'a'))])
    assert.deepEqual(
      [...all.difference(narrow)],
      ['list customresourcedefinitions', 'watch customresourcedefinitions'],
    )
    assert.deepEqual([...narrow.difference(all)], [])
  })

  it('watchNamespaces: other namespaces that it would have to see are an error', () => {
    const watchNamespaces = ['a']
    for (const [values, message] of [
      [{ rbac: { gatewayNamespaces: ['b'] } }, /rbac.gatewayNamespaces contains "b"/],
      [
        { gatewayClassParametersRefs: { x: { name: 'p', namespace: 'b' } } },
        /gatewayClassParametersRefs.x.namespace is "b"/,
      ],
    ] as const) {
      assert.throws(() => render(CHART, { watchNamespaces, ...values }), message)
    }
  })

  it('rbac.gatewayNamespaces: the deployer is bound in each namespace once, not cluster-wide', () => {
    const objects = render(CHART, { rbac: { gatewayNamespaces: ['shop', 'b', 'b'] } })
    const deployers = objects.filter((object) => {
      return object.kind.endsWith('Binding') && object.metadata.name.endsWith('-deployer')
    })
    assert.deepEqual(
      deployers.map(({ kind, metadata }) => [kind, metadata.namespace]),
      [
        ['RoleBinding', 'shop'],
        ['RoleBinding', 'b'],
      ],
    )
    assert.ok(find(objects, 'RoleBinding/edge-portcullis-local'))
  })

  for (const [key, values, group] of [
    ['istio.enabled', { istio: { enabled: false } }, 'networking.istio.io'],
    [
      'inferenceExtension.enabled',
      { inferenceExtension: { enabled: true } },
      'inference.networking.k8s.io',
    ],
    ['xBackend.enabled', { xBackend: { enabled: true } }, 'gateway.networking.x-k8s.io'],
  ] as const) {
    it(`${key} decides about ${group}`, () => {
      const has = (values: Values) =>
        JSON.stringify(find(render(CHART, values), 'ClusterRole/edge-portcullis-shop')).includes(
          group,
        )
      assert.notEqual(has({}), has(values))
    })
  }

  it('istio.enabled changes only permissions', () => {
    const others = (values: Values) =>
      render(CHART, values).filter(({ kind }) => kind !== 'ClusterRole')
    assert.deepEqual(others({ istio: { enabled: false } }), others({}))
  })

  it('no rule has a wildcard', () => {
    const everything = { inferenceExtension: { enabled: true }, xBackend: { enabled: true } }
    for (const object of render(CHART, everything))
      assert.ok(!JSON.stringify(object['rules'] ?? []).includes('"*"'))
  })
})

describe('failures of the control plane', options, () => {
  for (const [what, values, message] of [
    [
      'controller.xds.mode',
      { controller: { xds: { mode: 'mtls' } } },
      /controller\.xds\.mode is "mtls"; it must be "plaintext", "tls" or "either"/,
    ],
    [
      'gatewayClassParametersRefs without namespace',
      { gatewayClassParametersRefs: { edge: { name: 'a' } } },
      /gatewayClassParametersRefs\.edge\.namespace is required/,
    ],
    [
      'gatewayClassParametersRefs without name',
      { gatewayClassParametersRefs: { edge: { namespace: 'a' } } },
      /gatewayClassParametersRefs\.edge\.name is required/,
    ],
    [
      'gatewayClassParametersRefs without anything',
      { gatewayClassParametersRefs: { edge: {} } },
      /gatewayClassParametersRefs\.edge\.name is required/,
    ],
    [
      'an account that every pod has',
      { serviceAccount: { create: false } },
      /serviceAccount\.name is required .* every pod in the namespace/,
    ],
    [
      'a name with dots',
      { fullnameOverride: 'a.b' },
      /"a\.b" is not a valid Service name.*fullnameOverride/,
    ],
    [
      'fewer replicas at most than at least',
      { controller: { horizontalPodAutoscaler: { minReplicas: 3, maxReplicas: 2 } } },
      /horizontalPodAutoscaler\.minReplicas \(3\) must not exceed maxReplicas \(2\)/,
    ],
    [
      'no replicas at most',
      { controller: { horizontalPodAutoscaler: { minReplicas: 3 } } },
      /horizontalPodAutoscaler\.maxReplicas is required/,
    ],
    [
      'both sides of a budget',
      { controller: { podDisruptionBudget: { minAvailable: 1, maxUnavailable: 1 } } },
      /podDisruptionBudget must not set both/,
    ],
    ['no image', { controller: { image: { repository: null } } }, /image\.repository is required/],
    [
      'controller.extraEnv with both',
      { controller: { extraEnv: { A: { value: 'b', valueFrom: {} } } } },
      /extraEnv\.A must not set both/,
    ],
    [
      'controller.extraEnv with neither',
      { controller: { extraEnv: { A: {} } } },
      /extraEnv\.A requires `value`/,
    ],
    [
      'controller.extraEnv as a list',
      { controller: { extraEnv: [{ name: 'A' }] } },
      /'\/controller\/extraEnv': got array, want object/,
    ],
    [
      'a log level',
      { controller: { logLevel: 'loud' } },
      /must be one of 'error', 'warn', 'info', 'debug', 'trace'/,
    ],
    [
      'an unknown key',
      { controller: { replicas: 2 } },
      /'\/controller': additional properties 'replicas' not allowed/,
    ],
    [
      'a port as text',
      { controller: { service: { ports: { metrics: '9092' } } } },
      /'\/controller\/service\/ports\/metrics': got string, want integer/,
    ],
  ] as const) {
    it(what, () => assert.match(rejection(CHART, values as Values), message))
  }
})
