import { loggingSchema } from '../../src/sources/file/sections/config.ts'
import type { Kind } from './definition.ts'
import { conditionsStatus } from './status.ts'
import {
  atMostOne,
  flag,
  list,
  number,
  object,
  opaque,
  type Structural,
  text,
  toStructural,
  words,
} from './structural.ts'

const labels = (what: string): Structural => ({
  description: what,
  type: 'object',
  maxProperties: 64,
  additionalProperties: { type: 'string', maxLength: 4096 },
})

/** Strategic merge patch for an object that the controller creates. */
const overlay = (what: string) =>
  object(`Merged into the ${what} that the controller creates.`, {
    metadata: object('Additional labels and annotations.', {
      labels: labels('Labels.'),
      annotations: labels('Annotations.'),
    }),
    spec: opaque('Changes to the spec.'),
  })

const quantities: Structural = {
  description: 'Resources by name.',
  type: 'object',
  maxProperties: 32,
  additionalProperties: {
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
    pattern:
      '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
  },
}

const seconds = (what: string) => number(what, 0, 31_536_000)

export const proxyParameters: Kind = {
  kind: 'ProxyParameters',
  plural: 'proxyparameters',
  shortName: 'ppar',
  description: 'How the proxies of a gateway or gateway class are deployed.',
  columns: [
    {
      name: 'Accepted',
      jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
      description: 'Whether the parameters are valid.',
    },
  ],
  spec: object(
    'The deployment of proxies.',
    {
      workload: object('The workload that runs the proxies.', {
        kind: words(
          'A Deployment, or a DaemonSet to run one proxy per node.',
          ['Deployment', 'DaemonSet'],
          'Deployment',
        ),
      }),
      image: object('The image of the proxies. Default: the image of the controller.', {
        registry: text('The registry.'),
        repository: text('The repository.'),
        tag: text('The tag.', { maxLength: 128 }),
        digest: text('The digest, instead of the tag.', { pattern: '^sha256:[0-9a-f]{64}$' }),
        pullPolicy: words('When to pull the image.', ['Always', 'IfNotPresent', 'Never']),
      }),
      env: {
        ...list(
          'Additional environment variables of the container. They take precedence over those set by the controller.',
          {
            type: 'object',
            required: ['name'],
            properties: {
              name: text('The name.', { maxLength: 256 }),
              value: { type: 'string', maxLength: 32_768 },
              valueFrom: opaque('The source of the value.'),
            },
          },
          0,
          128,
        ),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
      resources: object('Resource requests and limits of proxies.', {
        requests: quantities,
        limits: quantities,
      }),
      logging: { ...toStructural(loggingSchema), description: 'Log settings.' },
      rawConfig: opaque('A configuration file. Other fields take precedence over it.'),
      shutdown: object(
        'How long a proxy can take to stop, in seconds.',
        {
          'min!': seconds('How long new connections are still accepted.'),
          'max!': seconds('How long open connections can continue.'),
        },
        { rule: 'self.min <= self.max', message: 'min must not be greater than max' },
      ),
      istio: object('The Istio mesh.', {
        enabled: flag('Whether gateways join the mesh.'),
        caAddress: text('The address of its CA.'),
        trustDomain: text('The trust domain.'),
        additionalTrustDomains: list('Additional trusted domains.', text('A trust domain.'), 0, 16),
        clusterId: text('The ID of the cluster.'),
        network: text('The network.'),
      }),
      modelCatalog: object('Model prices.', {
        'sources!': list(
          'The sources. Later ones take precedence.',
          object('A source.', {
            'configMap!': object('A key of a ConfigMap.', {
              'name!': text('The name of the ConfigMap.', { maxLength: 253 }),
              key: {
                ...text('The key in the ConfigMap.', { maxLength: 253 }),
                default: 'catalog.json',
              },
            }),
          }),
          1,
          16,
        ),
      }),
      deployment: overlay('Deployment'),
      daemonSet: overlay('DaemonSet'),
      service: overlay('Service'),
      serviceAccount: overlay('ServiceAccount'),
      podDisruptionBudget: overlay('PodDisruptionBudget, which is only created if this is set,'),
      horizontalPodAutoscaler: overlay(
        'HorizontalPodAutoscaler, which is only created if this is set,',
      ),
    },
    atMostOne('deployment', 'daemonSet'),
    {
      rule: "!has(self.daemonSet) || (has(self.workload) && self.workload.kind == 'DaemonSet')",
      message: 'daemonSet can only be set if workload.kind is DaemonSet',
    },
    {
      rule: "!has(self.workload) || self.workload.kind == 'Deployment' || !(has(self.deployment) || has(self.horizontalPodAutoscaler))",
      message:
        'deployment and horizontalPodAutoscaler can only be set if workload.kind is Deployment',
    },
  ),
  status: conditionsStatus,
}
