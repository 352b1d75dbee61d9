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

/** Laid over what the controller makes, as a strategic merge patch. */
const overlay = (what: string) =>
  object(`Laid over the ${what} that the controller makes.`, {
    metadata: object('Further labels and annotations.', {
      labels: labels('Labels.'),
      annotations: labels('Annotations.'),
    }),
    spec: opaque('What is different in its spec.'),
  })

const quantities: Structural = {
  description: 'By resource.',
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
  description: 'How proxies of a gateway, or of a gateway class, are started.',
  columns: [],
  spec: object(
    'How proxies are started.',
    {
      workload: object('What runs them.', {
        kind: words(
          'A Deployment, or a DaemonSet for one on each node.',
          ['Deployment', 'DaemonSet'],
          'Deployment',
        ),
      }),
      image: object('The image of proxies, where it is not that of the controller.', {
        registry: text('The registry.'),
        repository: text('The name.'),
        tag: text('The tag.', { maxLength: 128 }),
        digest: text('The digest, in place of the tag.', { pattern: '^sha256:[0-9a-f]{64}$' }),
        pullPolicy: words('When it is pulled.', ['Always', 'IfNotPresent', 'Never']),
      }),
      env: {
        ...list(
          'Further variables, as containers have them; they win over those of the controller.',
          {
            type: 'object',
            required: ['name'],
            properties: {
              name: text('The name.', { maxLength: 256 }),
              value: { type: 'string', maxLength: 32_768 },
              valueFrom: opaque('Where the value comes from.'),
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
      logging: { ...toStructural(loggingSchema), description: 'How the log looks.' },
      rawConfig: opaque('A configuration file; what other fields say wins over it.'),
      shutdown: object(
        'How long a proxy may take to stop, in seconds.',
        {
          'min!': seconds('It goes on taking connections so long.'),
          'max!': seconds('Connections may go on so long.'),
        },
        { rule: 'self.min <= self.max', message: 'min must not be more than max' },
      ),
      istio: object('The Istio mesh.', {
        enabled: flag('Whether gateways join the mesh.'),
        caAddress: text('The address of its CA.'),
        trustDomain: text('The trust domain.'),
        additionalTrustDomains: list('Others that are trusted.', text('A trust domain.'), 0, 16),
        clusterId: text('The ID of the cluster.'),
        network: text('The network.'),
      }),
      modelCatalog: object('Prices of models.', {
        'sources!': list(
          'Later ones win.',
          object('A source.', {
            'configMap!': object('An entry of a ConfigMap.', {
              'name!': text('The name of the ConfigMap.', { maxLength: 253 }),
              key: { ...text('The entry.', { maxLength: 253 }), default: 'catalog.json' },
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
      podDisruptionBudget: overlay('PodDisruptionBudget, which there is none of without this,'),
      horizontalPodAutoscaler: overlay(
        'HorizontalPodAutoscaler, which there is none of without this,',
      ),
    },
    atMostOne('deployment', 'daemonSet'),
    {
      rule: "!has(self.daemonSet) || (has(self.workload) && self.workload.kind == 'DaemonSet')",
      message: 'daemonSet goes with workload.kind DaemonSet',
    },
    {
      rule: "!has(self.workload) || self.workload.kind == 'Deployment' || !(has(self.deployment) || has(self.horizontalPodAutoscaler))",
      message: 'deployment and horizontalPodAutoscaler go with workload.kind Deployment',
    },
  ),
  status: conditionsStatus,
}
