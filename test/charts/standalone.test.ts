// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations reference variables
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse, stringify } from 'yaml'
import { loadText } from '../../src/sources/file/load.ts'
import {
  type KubernetesObject,
  options,
  rejection,
  render,
  renderText,
  type Values,
} from './helm.ts'
import { describeValues } from './landing.ts'
import { STANDALONE_CASES, STANDALONE_ELSEWHERE } from './standalone-cases.ts'
import { STANDALONE_DEFAULTS } from './standalone-defaults.ts'
import { at, find, merge } from './values.ts'

const CHART = 'portcullis-standalone'
const SECRET = 'postgres://app:secret@db:5432/app'

/** Everything is enabled, so that every kind of object is rendered. */
const ALL: Values = {
  autoscaling: { enabled: true },
  podDisruptionBudget: { enabled: true },
  monitoring: { enabled: true },
  gateway: { extraServices: [{ name: 'admin', ports: [{ port: 8080 }] }] },
}

describeValues(CHART, {
  defaults: STANDALONE_DEFAULTS,
  cases: STANDALONE_CASES,
  elsewhere: STANDALONE_ELSEWHERE,
})

function fileOf(values: Values): Record<string, unknown> {
  return parse(at(find(render(CHART, values), 'ConfigMap'), 'data["config.yaml"]') as string)
}

function templateOf(values: Values): unknown {
  return at(find(render(CHART, values), 'Deployment'), 'spec.template')
}

describe('config', options, () => {
  it('reaches the ConfigMap unchanged', () => {
    const config = {
      gateways: { default: { port: 4000 } },
      routes: [
        {
          name: 'a',
          matches: [{ path: { regex: '/{{ .Values.mode }}/[0-9]{1,3}$' } }],
          policies: {
            authorization: { rules: [{ require: 'a && b < c || \'${X}\' == "y"' }] },
            localRateLimit: { requests: 1500000, unit: 'Hours' },
            responseHeaders: { set: { 'x-number': '007', 'x-yes': 'yes', 'x-date': '2026-01-01' } },
          },
        },
      ],
    }
    assert.deepEqual(fileOf({ config }), { ...config, config: { storage: { mode: 'readonly' } } })
  })

  it('keeps large integers exact', () => {
    const config = {
      gateways: { default: { port: 4000 } },
      config: { limits: { connections: 1500000 } },
    }
    assert.match(renderText(CHART, { config }), /connections: 1500000$/m)
  })

  it('without any, a greeting is served on the port of the service', () => {
    const file = fileOf({})
    assert.deepEqual(file['gateways'], { default: { port: 4000 } })
    assert.equal(at(find(render(CHART), 'Service'), 'spec.ports[0].targetPort'), 4000)
  })

  it('the proxy accepts the example, except the key set, which does not exist here', () => {
    const example = join(import.meta.dirname, '../../examples/kubernetes/standalone-values.yaml')
    const text = stringify(fileOf(parse(readFileSync(example, 'utf8'))))
    const { diagnostics } = loadText(text, 'config.yaml', { environment: {} }).result
    assert.deepEqual(
      diagnostics.map(({ message }) => message),
      ['the file cannot be read: no such file or directory'],
    )
  })

  it('settings alone keep the greeting', () => {
    const file = fileOf({ config: { config: { logging: { level: 'debug' } } } })
    assert.deepEqual(file['gateways'], { default: { port: 4000 } })
    assert.deepEqual(file['config'], { logging: { level: 'debug' }, storage: { mode: 'readonly' } })
  })

  it('the proxy accepts the greeting without diagnostics', () => {
    const text = at(find(render(CHART), 'ConfigMap'), 'data["config.yaml"]') as string
    const { value, diagnostics } = loadText(text, 'config.yaml', { environment: {} }).result
    assert.deepEqual(diagnostics, [])
    assert.notEqual(value, undefined)
  })
})

describe('settings that restart pods', options, () => {
  const before = templateOf({ config: { gateways: { default: { port: 4000 } } } })

  for (const [what, values] of [
    ['a route', { config: { gateways: { default: { port: 4000 } }, routes: [{ name: 'a' }] } }],
    ['another listener', { config: { gateways: { default: { port: 4001 } } } }],
    ['policies for all connections', { config: { frontendPolicies: { http: {} } } }],
    ['config.modelCatalog', { config: { config: { modelCatalog: [{ inline: {} }] } } }],
    ['an empty config.config', { config: { config: {} } }],
    ['no configuration at all', { config: null }],
    ['mode, set to what it is', { mode: 'readonly' }],
    ['replicaCount', { replicaCount: 3 }],
    ['gateway.service', { gateway: { service: { type: 'ClusterIP', ports: [{ port: 81 }] } } }],
    ['gateway.extraServices', { gateway: ALL['gateway'] }],
    ['commonLabels', { commonLabels: { team: 'edge' } }],
    ['autoscaling', { autoscaling: { enabled: true } }],
    ['podDisruptionBudget', { podDisruptionBudget: { enabled: true } }],
    ['serviceAccount.annotations', { serviceAccount: { annotations: { a: 'b' } } }],
    ['database.postgres.url in readonly mode', { database: { postgres: { url: SECRET } } }],
  ] as const) {
    it(`not ${what}`, () => assert.deepEqual(templateOf(values as Values), before))
  }

  for (const [what, values] of [
    ['config.logging', { config: { config: { logging: { level: 'debug' } } } }],
    ['config.workers', { config: { config: { workers: 2 } } }],
    ['mode', { mode: 'database', database: { postgres: { url: SECRET } } }],
    ['image.tag', { image: { tag: '2' } }],
    ['session.secretName', { session: { secretName: 'session' } }],
    ['monitoring.enabled', { monitoring: { enabled: true } }],
  ] as const) {
    it(`but ${what}`, () => assert.notDeepEqual(templateOf(values as Values), before))
  }

  it('modelCatalog beside another setting changes nothing either', () => {
    const config = { workers: 2 }
    const catalog = { ...config, modelCatalog: [{ inline: {} }] }
    assert.deepEqual(
      templateOf({ config: { config: catalog } }),
      templateOf({ config: { config } }),
    )
  })

  it('the configuration is mounted as a directory, since a single file would never be updated', () => {
    const pod = at(before, 'spec')
    assert.deepEqual(at(pod, 'containers[0].volumeMounts[0]'), {
      name: 'config',
      mountPath: '/config',
      readOnly: true,
    })
    assert.equal(at(pod, 'volumes[0].name'), 'config')
  })
})

describe('mode and database.postgres.url', options, () => {
  const database = { mode: 'database', database: { postgres: { url: SECRET } } }

  it('readonly: the file is the only source', () => {
    const settings = fileOf({ database: { postgres: { url: SECRET } } })['config']
    assert.deepEqual(settings, { storage: { mode: 'readonly' } })
  })

  it('database: edits are stored in the database', () => {
    const settings = fileOf(database)['config']
    assert.deepEqual(settings, { storage: { mode: 'database' }, database: { url: SECRET } })
  })

  it('the settings of the user stay beside them', () => {
    const settings = fileOf(merge(database, { config: { config: { workers: 2 } } }))['config']
    assert.deepEqual(settings, {
      workers: 2,
      storage: { mode: 'database' },
      database: { url: SECRET },
    })
  })

  it('both support several replicas', () => {
    for (const values of [{}, database]) {
      const objects = render(CHART, merge(values, { replicaCount: 3 }))
      assert.equal(at(find(objects, 'Deployment'), 'spec.replicas'), 3)
      assert.equal(objects.filter(({ kind }) => kind === 'PersistentVolumeClaim').length, 0)
    }
  })
})

describe('session.secretName', options, () => {
  it('the key of the Secret becomes the session key', () => {
    const settings = fileOf({ session: { secretName: 'session' } })['config']
    assert.deepEqual(settings, {
      storage: { mode: 'readonly' },
      session: { key: '${SESSION_KEY}' },
    })
  })

  it('a key in the configuration takes precedence', () => {
    const key = 'ab'.repeat(32)
    const values = { session: { secretName: 'session' }, config: { config: { session: { key } } } }
    assert.deepEqual(fileOf(values)['config'], { storage: { mode: 'readonly' }, session: { key } })
  })
})

describe('failures', options, () => {
  for (const [what, values, message] of [
    ['mode', { mode: 'file' }, /mode is "file"; it must be "readonly" or "database"/],
    [
      'config.storage',
      { config: { config: { storage: {} } } },
      /config\.config\.storage must not be set.*`mode`/,
    ],
    [
      'config.database',
      { config: { config: { database: {} } } },
      /config\.config\.database must not be set.*`database\.postgres\.url`/,
    ],
    ['storage, a level too high', { config: { storage: {} } }, /config\.storage must not be set/],
    ['database mode without a URL', { mode: 'database' }, /database\.postgres\.url is required/],
    [
      'a URL of something else',
      { mode: 'database', database: { postgres: { url: 'mysql://x' } } },
      /must begin with postgres:\/\//,
    ],
    ['oidc without a Secret', { oidc: { enabled: true } }, /oidc\.cookieSecretName is required/],
    [
      'an extra service without a name',
      { gateway: { extraServices: [{ ports: [{ port: 1 }] }] } },
      /extraServices\[0\] requires `name`/,
    ],
    [
      'an extra service without ports',
      { gateway: { extraServices: [{ name: 'a' }] } },
      /extraServices\[0\] \(a\) requires `ports`/,
    ],
    ['an unknown key', { replicas: 3 }, /additional properties 'replicas' not allowed/],
    [
      'an unknown key inside',
      { gateway: { service: { typ: 'x' } } },
      /'\/gateway\/service': additional properties 'typ'/,
    ],
    ['a section that is null', { gateway: null }, /missing property 'gateway'/],
    ['a wrong type', { replicaCount: 'three' }, /'\/replicaCount': got string, want integer/],
    ['extraEnv as a mapping', { extraEnv: { A: 'b' } }, /'\/extraEnv': got object, want array/],
    ['config as text', { config: 'routes: []' }, /'\/config': got string, want object/],
    ['config.config as a list', { config: { config: [] } }, /'\/config\/config'/],
    [
      'a type of service',
      { gateway: { service: { type: 'Ingress' } } },
      /must be one of 'ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'/,
    ],
    [
      'a port out of range',
      { gateway: { service: { ports: [{ port: 70000 }] } } },
      /maximum: got 70,000, want 65,535/,
    ],
    ['a label that is a number', { podLabels: { a: 1 } }, /'\/podLabels\/a'/],
  ] as const) {
    it(what, () => assert.match(rejection(CHART, values as Values), message))
  }
})

describe('all objects', options, () => {
  const labelled = merge(ALL, { commonLabels: { team: 'edge' } })
  const kinds = [
    'ConfigMap',
    'Deployment',
    'HorizontalPodAutoscaler',
    'PodDisruptionBudget',
    'PodMonitor',
    'Service',
    'Service',
    'ServiceAccount',
  ]

  it('are exactly these', () => {
    assert.deepEqual(
      render(CHART, ALL)
        .map(({ kind }) => kind)
        .sort(),
      kinds,
    )
    assert.deepEqual(
      render(CHART)
        .map(({ kind }) => kind)
        .sort(),
      ['ConfigMap', 'Deployment', 'Service', 'ServiceAccount'],
    )
  })

  for (const [what, check] of [
    ['commonLabels', ({ metadata }: KubernetesObject) => metadata.labels?.['team'] === 'edge'],
    [
      'the namespace of the release',
      ({ metadata }: KubernetesObject) => metadata.namespace === 'shop',
    ],
  ] as const) {
    it(`have ${what}`, () =>
      assert.deepEqual(
        render(CHART, labelled).filter((one) => !check(one)),
        [],
      ))
  }

  it('namespaceOverride moves all of them', () => {
    const objects = render(CHART, merge(ALL, { namespaceOverride: 'elsewhere' }))
    const elsewhere = objects.filter(({ metadata }) => metadata.namespace === 'elsewhere')
    assert.equal(elsewhere.length, kinds.length)
  })

  it('switches remove objects', () => {
    const off = merge(ALL, {
      serviceAccount: { create: false },
      gateway: { service: { enabled: false }, extraServices: [] },
      monitoring: { podMonitor: { enabled: false } },
    })
    assert.deepEqual(
      render(CHART, off)
        .map(({ kind }) => kind)
        .sort(),
      ['ConfigMap', 'Deployment', 'HorizontalPodAutoscaler', 'PodDisruptionBudget'],
    )
  })
})

describe('safety', options, () => {
  it('by default, pods have no privileges', () => {
    const pod = at(templateOf({}), 'spec')
    assert.deepEqual(at(pod, 'securityContext'), { seccompProfile: { type: 'RuntimeDefault' } })
    assert.deepEqual(
      at(pod, 'containers[0].securityContext'),
      STANDALONE_DEFAULTS['securityContext'],
    )
    assert.equal(at(pod, 'automountServiceAccountToken'), false)
  })

  it('there are no permissions, and no Admin UI on the service', () => {
    const objects = render(CHART, ALL)
    assert.deepEqual(
      objects.filter(({ kind }) => /Role/.test(kind)),
      [],
    )
    assert.equal(at(find(objects, 'Service/edge'), 'spec.ports[1]'), undefined)
    assert.equal(fileOf({})['ui'], undefined)
  })

  it('probes use port 15021, whatever the settings', () => {
    assert.deepEqual(at(templateOf({}), 'spec.containers[0].ports'), [
      { name: 'readiness', containerPort: 15_021 },
    ])
    const moved = templateOf({
      config: { config: { readinessAddr: '0.0.0.0:9000', statsAddr: '[::]:9001' } },
      monitoring: { enabled: true },
    })
    assert.deepEqual(at(moved, 'spec.containers[0].ports'), [
      { name: 'readiness', containerPort: 9000 },
      { name: 'metrics', containerPort: 9001 },
    ])
  })

  for (const [settings, seconds] of [
    [{}, 30],
    [{ connectionTerminationDeadline: '1m30s' }, 105],
    [{ connectionTerminationDeadline: '1h', connectionMinTerminationDeadline: '1500ms' }, 3617],
  ] as const) {
    it(`a pod with ${JSON.stringify(settings)} may take ${seconds} s to stop`, () => {
      const pod = at(templateOf({ config: { config: settings } }), 'spec')
      assert.equal(at(pod, 'terminationGracePeriodSeconds'), seconds)
    })
  }
})
