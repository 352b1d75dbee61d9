import {
  anyObject,
  bool,
  count,
  countOrNothing,
  countOrShare,
  int,
  interval,
  labels,
  mapping,
  objects,
  oneOf,
  orNull,
  port,
  pullPolicy,
  type Shape,
  scrape,
  secretNames,
  serviceAccount,
  serviceFields,
  servicePorts,
  strings,
  tag,
  text,
} from './shapes.ts'

/** Values of a subchart: Helm adds `global`, and reads `enabled` itself. */
const included: Readonly<Record<string, Shape>> = {
  global: anyObject,
  enabled: { type: ['boolean', 'null'] },
}

/** Scheduling and security of pods, in both charts. */
const pods: Readonly<Record<string, Shape>> = {
  commonLabels: labels,
  nameOverride: text,
  fullnameOverride: text,
  imagePullSecrets: secretNames,
  serviceAccount,
  podAnnotations: labels,
  podLabels: labels,
  podSecurityContext: anyObject,
  securityContext: anyObject,
  resources: anyObject,
  nodeSelector: labels,
  tolerations: objects,
  affinity: anyObject,
  dnsConfig: anyObject,
  ...included,
}

const utilization = orNull(int(1))

export const standaloneShape = mapping({
  ...pods,
  namespaceOverride: text,
  // The templates check the allowed words, with better messages.
  mode: text,
  database: mapping({ postgres: mapping({ url: text }) }),
  config: { type: 'object', properties: { config: { type: ['object', 'null'] } } },
  oidc: mapping({ enabled: bool, cookieSecretName: text }),
  session: mapping({ secretName: text }),
  image: mapping({ registry: text, repository: text, tag, pullPolicy }),
  replicaCount: count,
  revisionHistoryLimit: countOrNothing,
  strategy: anyObject,
  autoscaling: mapping({
    annotations: labels,
    behavior: anyObject,
    enabled: bool,
    maxReplicas: int(1),
    minReplicas: count,
    targetCPUUtilizationPercentage: utilization,
    targetMemoryUtilizationPercentage: utilization,
  }),
  podDisruptionBudget: mapping({
    enabled: bool,
    maxUnavailable: countOrShare,
    minAvailable: countOrShare,
    unhealthyPodEvictionPolicy: oneOf('', 'IfHealthyBudget', 'AlwaysAllow'),
  }),
  gateway: mapping({
    service: mapping({ ...serviceFields, ports: servicePorts }),
    extraServices: {
      type: 'array',
      items: mapping({ ...serviceFields, name: text, ports: servicePorts }),
    },
  }),
  extraEnv: objects,
  extraVolumes: objects,
  extraVolumeMounts: objects,
  extraContainers: objects,
  monitoring: mapping({
    enabled: bool,
    annotations: labels,
    extraLabels: labels,
    podMonitor: mapping({ ...scrape, interval }),
  }),
})

const enabled = mapping({ enabled: bool })

export const controlPlaneShape = mapping({
  ...pods,
  image: mapping({ registry: text, tag, pullPolicy }),
  controller: mapping({
    replicaCount: count,
    revisionHistoryLimit: countOrNothing,
    logLevel: oneOf('error', 'warn', 'info', 'debug', 'trace'),
    strategy: anyObject,
    priorityClassName: text,
    image: mapping({ registry: text, repository: text, tag, pullPolicy }),
    xds: mapping({ mode: text }),
    extraEnv: {
      type: 'object',
      additionalProperties: { type: ['string', 'number', 'boolean', 'object', 'null'] },
    },
    extraVolumes: objects,
    extraVolumeMounts: objects,
    extraContainers: objects,
    podDisruptionBudget: anyObject,
    horizontalPodAutoscaler: anyObject,
    verticalPodAutoscaler: anyObject,
    service: mapping({
      ...serviceFields,
      ports: mapping({ agwGrpc: port, health: port, metrics: port }),
    }),
  }),
  proxy: mapping({ image: mapping({ registry: text, repository: text, tag }) }),
  controllerName: text,
  gatewayClassName: text,
  gatewayClassParametersRefs: {
    type: 'object',
    additionalProperties: orNull(mapping({ group: text, kind: text, name: text, namespace: text })),
  },
  discoveryNamespaceSelectors: {
    type: 'array',
    items: mapping({ matchLabels: labels, matchExpressions: objects }),
  },
  watchNamespaces: { type: 'array', items: text },
  agentgatewayModels: enabled,
  inferenceExtension: enabled,
  xBackend: enabled,
  istio: mapping({
    enabled: bool,
    autoEnabled: bool,
    caAddress: text,
    clusterId: text,
    namespace: text,
    network: text,
    revision: text,
  }),
  rbac: mapping({ create: bool, gatewayNamespaces: strings }),
  deploymentAnnotations: labels,
  topologySpreadConstraints: objects,
  monitoring: mapping({
    enabled: bool,
    serviceMonitor: mapping({ ...scrape, extraLabels: labels, interval }),
    proxy: mapping({
      gatewayClassNames: strings,
      namespaceSelector: anyObject,
      podMonitor: mapping({ ...scrape, podTargetLabels: strings }),
    }),
    grafanaDashboard: mapping({ enabled: bool, labels, annotations: labels }),
  }),
})

/** For a chart whose templates contain only definitions: only the schema can reject values. */
export const noValues = mapping({ ...included, enabled: { enum: [true, null] } })
