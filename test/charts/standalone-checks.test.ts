// biome-ignore-all lint/suspicious/noTemplateCurlyInString: configurations reference variables
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { options, rejection, render, type Values } from './helm.ts'
import { at, find, merge } from './values.ts'

const CHART = 'portcullis-standalone'
const monitored = { monitoring: { enabled: true } }
const settings = (config: Values): Values => ({ config: { config } })
const templateOf = (values: Values) =>
  at(find(render(CHART, values), 'Deployment'), 'spec.template')

/** Values that the API server would reject, or that would run without the requested effect. */
describe('values that cannot work', options, () => {
  for (const [what, values, message] of [
    ...[
      'off',
      'localhost:15021',
      '127.0.0.1:15021',
      '127.1.2.3:80',
      '[::1]:15021',
      'unix:/tmp/x',
    ].map(
      (address) =>
        [
          `readinessAddr ${address}`,
          settings({ readinessAddr: address }),
          /config\.config\.readinessAddr is ".*", which the kubelet cannot reach/,
        ] as const,
    ),
    ...['off', 'localhost:15020', '127.0.0.1:15020', '[::1]:15020', 'unix:/tmp/x'].map(
      (address) =>
        [
          `statsAddr ${address} with a monitor`,
          merge(monitored, settings({ statsAddr: address })),
          /config\.config\.statsAddr is ".*", which Prometheus cannot reach.*monitoring\.enabled/,
        ] as const,
    ),
    ['no ports', { gateway: { service: { ports: [] } } }, /gateway\.service\.ports is empty/],
    ['ports null', { gateway: { service: { ports: null } } }, /gateway\.service\.ports is empty/],
    [
      'fewer replicas at most than at least',
      { autoscaling: { enabled: true, minReplicas: 4 } },
      /autoscaling\.minReplicas \(4\) must not exceed autoscaling\.maxReplicas \(3\)/,
    ],
    [
      'no replicas at most',
      { autoscaling: { enabled: true, maxReplicas: null } },
      /autoscaling\.maxReplicas is required/,
    ],
    ...['', null].map(
      (minAvailable) =>
        [
          `a budget of ${JSON.stringify(minAvailable)}`,
          { podDisruptionBudget: { enabled: true, minAvailable } },
          /podDisruptionBudget\.minAvailable or podDisruptionBudget\.maxUnavailable is required/,
        ] as const,
    ),
    [
      'a name with dots',
      { fullnameOverride: 'a.b' },
      /"a\.b" is not a valid Service name.*fullnameOverride/,
    ],
    [
      'a name that begins with a digit',
      { fullnameOverride: '1a' },
      /"1a" is not a valid Service name.*fullnameOverride/,
    ],
    ['no image', { image: { repository: '' } }, /image\.repository is required/],
    ['image.repository null', { image: { repository: null } }, /image\.repository is required/],
    ['enabled: false', { enabled: false }, /`enabled: false` only works as the `condition`/],
    [
      'two extra services of one name',
      {
        gateway: {
          extraServices: [
            { name: 'a', ports: [{ port: 1 }] },
            { name: 'a', ports: [{ port: 2 }] },
          ],
        },
      },
      /gateway\.extraServices: duplicate name "a"/,
    ],
  ] as const) {
    it(what, () => assert.match(rejection(CHART, values as Values), message))
  }

  for (const [what, values] of [
    ['readinessAddr 0.0.0.0:9000', settings({ readinessAddr: '0.0.0.0:9000' })],
    ['readinessAddr of a variable', settings({ readinessAddr: '${POD_IP}:15021' })],
    ['statsAddr off without a monitor', settings({ statsAddr: 'off' })],
    [
      'no ports of a service that is not made',
      { gateway: { service: { enabled: false, ports: [] } } },
    ],
    [
      'no ports of an external name',
      { gateway: { service: { type: 'ExternalName', externalName: 'a.b', ports: [] } } },
    ],
    ['as many at least as at most', { autoscaling: { enabled: true, minReplicas: 3 } }],
    ['limits of an autoscaler that is off', { autoscaling: { minReplicas: 4 } }],
    ['a budget of 0', { podDisruptionBudget: { enabled: true, minAvailable: 0 } }],
    ['enabled: true', { enabled: true }],
    ['enabled: null', { enabled: null }],
  ] as const) {
    it(`${what} is fine`, () => void render(CHART, values as Values))
  }

  it('a release whose name contains dots', () => {
    const named = { name: 'shop.edge' }
    assert.throws(
      () => render(CHART, {}, named),
      /"shop\.edge" is not a valid Service name.*fullnameOverride/,
    )
    render(CHART, { fullnameOverride: 'edge' }, named)
  })
})

describe('statsAddr', options, () => {
  const annotation = (values: Values) =>
    at(templateOf(values), 'metadata.annotations["prometheus.io/port"]')

  it('on another port: the annotation follows', () => {
    assert.equal(annotation(settings({ statsAddr: '[::]:9001' })), '9001')
  })

  it('an annotation of the user stays', () => {
    const values = merge(settings({ statsAddr: '[::]:9001' }), {
      podAnnotations: { 'prometheus.io/port': '9999' },
    })
    assert.equal(annotation(values), '9999')
  })

  for (const address of ['off', '127.0.0.1:15020', 'unix:/tmp/x']) {
    it(`${address}: nobody is told to read metrics`, () => {
      const annotations = at(templateOf(settings({ statsAddr: address })), 'metadata.annotations')
      assert.deepEqual(Object.keys(annotations as object), ['checksum/config'])
    })
  }
})

describe('gateway.extraServices', options, () => {
  it('enabled: false renders none', () => {
    const extraServices = [
      { name: 'a', enabled: false, ports: [{ port: 1 }] },
      { name: 'b', enabled: true, ports: [{ port: 1 }] },
      { name: 'c', ports: [{ port: 1 }] },
    ]
    const services = render(CHART, { gateway: { extraServices } })
      .filter(({ kind }) => kind === 'Service')
      .map(({ metadata }) => metadata.name)
    assert.deepEqual(services.toSorted(), ['edge', 'edge-b', 'edge-c'])
  })
})

describe("the proxy's environment for its resources", options, () => {
  const variables = (values: Values) => {
    const env = at(templateOf(values), 'spec.containers[0].env') ?? []
    return (env as readonly { readonly name: string; readonly valueFrom: unknown }[]).map(
      ({ name, valueFrom }) => [name, at(valueFrom, 'resourceFieldRef')],
    )
  }
  const CPU = { resource: 'requests.cpu', divisor: '1m' }
  const MEMORY = { resource: 'requests.memory', divisor: '1' }

  for (const [what, resources, expected] of [
    [
      'the defaults',
      {},
      [
        ['PORTCULLIS_CPU_REQUEST', CPU],
        ['PORTCULLIS_MEMORY_REQUEST', MEMORY],
      ],
    ],
    ['nothing asked for', { requests: null }, []],
    ['memory alone', { requests: { cpu: null } }, [['PORTCULLIS_MEMORY_REQUEST', MEMORY]]],
    // A limit is only an upper bound, and the process sees it itself.
    ['a CPU limit', { limits: { cpu: 4 } }, [['PORTCULLIS_MEMORY_REQUEST', MEMORY]]],
  ] as const) {
    it(what, () => assert.deepEqual(variables({ resources }), expected))
  }

  it('variables of the user take precedence', () => {
    const extraEnv = [{ name: 'PORTCULLIS_CPU_REQUEST', value: '4000' }]
    const env = at(templateOf({ extraEnv }), 'spec.containers[0].env') as readonly {
      name: string
    }[]
    assert.deepEqual(
      env.filter(({ name }) => name === 'PORTCULLIS_CPU_REQUEST'),
      extraEnv,
    )
  })
})
