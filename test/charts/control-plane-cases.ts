import { serviceCases } from './service-cases.ts'
import { ABSENT, type LandingCase, type Variable, variable } from './values.ts'

const POD = 'spec.template.spec'
const CONTROLLER = `${POD}.containers[0]`
const ANNOTATIONS = 'spec.template.metadata.annotations'
const monitored = { monitoring: { enabled: true } }
const SELECTED = {
  'app.kubernetes.io/name': 'portcullis',
  'app.kubernetes.io/instance': 'edge',
  'app.kubernetes.io/component': 'controller',
}
const TARGET = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'edge-portcullis' }
const HARDENED = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
}
const sidecar = { name: 'sidecar', image: 'example.com/sidecar:1' }
const relabeling = { sourceLabels: ['__name__'], regex: 'portcullis_process_.*', action: 'drop' }
const selectors = [
  { matchLabels: { team: 'a' } },
  { matchExpressions: [{ key: 'b', operator: 'Exists' }] },
]
const refs = { portcullis: { name: 'defaults', namespace: 'portcullis-system' } }
const SERVICE_PORTS = [
  { name: 'grpc-xds', port: 19_978, targetPort: 'grpc-xds', protocol: 'TCP' },
  { name: 'health', port: 9093, targetPort: 'health', protocol: 'TCP' },
  { name: 'metrics', port: 9092, targetPort: 'metrics', protocol: 'TCP' },
]

/** A value that the controller is told as a variable. */
function told(key: string, value: unknown, expected: Variable, rest = {}): LandingCase {
  const [name, text] = expected
  return [key, value, 'Deployment', variable(name), { ...rest, expect: text }]
}

/** Where each value of the chart portcullis lands. */
// biome-ignore format: a table, one case to a line
export const CONTROL_PLANE_CASES: readonly LandingCase[] = [
  ...serviceCases('controller.service'),
  ['affinity', { podAntiAffinity: {} }, 'Deployment', `${POD}.affinity`],
  told('agentgatewayModels.enabled', true, ['PORTCULLIS_MODELS_ENABLED', 'true']),
  told('agentgatewayModels.enabled', false, ['PORTCULLIS_MODELS_ENABLED', ABSENT]),
  ['commonLabels', { team: 'edge' }, 'Deployment', 'spec.selector', { expect: { matchLabels: SELECTED } }],
  ['commonLabels', { team: 'edge' }, 'Deployment', 'spec.template.metadata.labels', { expect: SELECTED }],
  ['controller.extraContainers', [sidecar], 'Deployment', `${POD}.containers[1]`, { expect: sidecar }],
  told('controller.extraEnv', { A: 'b' }, ['A', 'b']),
  told('controller.extraEnv', { A: 1500000 }, ['A', '1500000']),
  told('controller.extraEnv', { A: 0.5 }, ['A', '0.5']),
  told('controller.extraEnv', { A: true }, ['A', 'true']),
  told('controller.extraEnv', { A: '' }, ['A', '']),
  told('controller.extraEnv', { A: { value: 7 } }, ['A', '7']),
  ['controller.extraEnv', { A: { valueFrom: { secretKeyRef: { name: 's', key: 'k' } } } }, 'Deployment', `${variable('A')}From`, { expect: { secretKeyRef: { name: 's', key: 'k' } } }],
  ['controller.extraVolumeMounts', [{ name: 'keys', mountPath: '/keys' }], 'Deployment', `${CONTROLLER}.volumeMounts[1]`, { expect: { name: 'keys', mountPath: '/keys' } }],
  ['controller.extraVolumes', [{ name: 'keys', emptyDir: {} }], 'Deployment', `${POD}.volumes[1]`, { expect: { name: 'keys', emptyDir: {} } }],
  ['controller.horizontalPodAutoscaler', { minReplicas: 1, maxReplicas: 3 }, 'HorizontalPodAutoscaler', 'spec', { expect: { minReplicas: 1, maxReplicas: 3, scaleTargetRef: TARGET } }],
  ['controller.horizontalPodAutoscaler', { maxReplicas: 3 }, 'Deployment', 'spec.replicas', { expect: ABSENT }],
  ['controller.image', { registry: 'r', repository: 'c', tag: 't' }, 'Deployment', `${CONTROLLER}.image`, { expect: 'r/c:t' }],
  ['controller.image.pullPolicy', 'Always', 'Deployment', `${CONTROLLER}.imagePullPolicy`],
  ['controller.image.pullPolicy', '', 'Deployment', `${CONTROLLER}.imagePullPolicy`, { expect: 'Never', with: { image: { pullPolicy: 'Never' } } }],
  ['controller.image.registry', 'r', 'Deployment', `${CONTROLLER}.image`, { expect: 'r/controller:0.1.0' }],
  ['controller.image.repository', 'c', 'Deployment', `${CONTROLLER}.image`, { expect: 'ghcr.io/portcullis-dev/c:0.1.0' }],
  ['controller.image.tag', 't', 'Deployment', `${CONTROLLER}.image`, { expect: 'ghcr.io/portcullis-dev/controller:t', with: { image: { tag: 'other' } } }],
  told('controller.logLevel', 'debug', ['PORTCULLIS_LOG_LEVEL', 'debug']),
  ['controller.podDisruptionBudget', { maxUnavailable: 0 }, 'PodDisruptionBudget', 'spec', { expect: { maxUnavailable: 0, selector: { matchLabels: SELECTED } } }],
  ['controller.priorityClassName', 'system-cluster-critical', 'Deployment', `${POD}.priorityClassName`],
  ['controller.replicaCount', 0, 'Deployment', 'spec.replicas'],
  ['controller.replicaCount', 2, 'Deployment', 'spec.replicas'],
  ['controller.revisionHistoryLimit', 0, 'Deployment', 'spec.revisionHistoryLimit'],
  ['controller.revisionHistoryLimit', null, 'Deployment', 'spec.revisionHistoryLimit', { expect: ABSENT }],
  ['controller.service.ports', { agwGrpc: 19_978 }, 'Service', 'spec.ports', { expect: SERVICE_PORTS }],
  ['controller.service.ports', { agwGrpc: 19_978 }, 'Deployment', `${CONTROLLER}.ports[0]`, { expect: { name: 'grpc-xds', containerPort: 19_978 } }],
  told('controller.service.ports', { agwGrpc: 19_978 }, ['PORTCULLIS_XDS_PORT', '19978']),
  told('controller.service.ports', { health: 8093 }, ['PORTCULLIS_HEALTH_PORT', '8093']),
  told('controller.service.ports', { metrics: 8092 }, ['PORTCULLIS_METRICS_PORT', '8092']),
  ['controller.service.ports', { metrics: 8092 }, 'Deployment', `${ANNOTATIONS}["prometheus.io/port"]`, { expect: '8092' }],
  ['controller.strategy', { type: 'Recreate' }, 'Deployment', 'spec.strategy'],
  ['controller.strategy', {}, 'Deployment', 'spec.strategy', { expect: ABSENT }],
  ['controller.verticalPodAutoscaler', { updatePolicy: { updateMode: 'Off' } }, 'VerticalPodAutoscaler', 'spec', { expect: { updatePolicy: { updateMode: 'Off' }, targetRef: TARGET } }],
  ...['tls', 'plaintext', 'either'].map((mode) => told('controller.xds.mode', mode, ['PORTCULLIS_XDS_MODE', mode])),
  told('controllerName', 'example.com/mine', ['PORTCULLIS_CONTROLLER_NAME', 'example.com/mine']),
  told('controllerName', '', ['PORTCULLIS_CONTROLLER_NAME', ABSENT]),
  ['deploymentAnnotations', { a: 'b' }, 'Deployment', 'metadata.annotations'],
  ['deploymentAnnotations', { a: 'b' }, 'Deployment', `${ANNOTATIONS}.a`, { expect: ABSENT }],
  told('discoveryNamespaceSelectors', selectors, ['PORTCULLIS_DISCOVERY_NAMESPACE_SELECTORS', JSON.stringify(selectors)]),
  told('discoveryNamespaceSelectors', [], ['PORTCULLIS_DISCOVERY_NAMESPACE_SELECTORS', ABSENT]),
  ['dnsConfig', { searches: ['a'] }, 'Deployment', `${POD}.dnsConfig`],
  ['fullnameOverride', 'front', 'Deployment', 'metadata.name'],
  ['fullnameOverride', 'front', 'Service', 'metadata.name'],
  told('fullnameOverride', 'front', ['PORTCULLIS_XDS_SERVICE_NAME', 'front']),
  ['fullnameOverride', 'front', 'Role', 'metadata.name', { expect: 'front-local' }],
  told('gatewayClassName', 'edge', ['PORTCULLIS_GATEWAY_CLASS_NAME', 'edge']),
  told('gatewayClassName', '', ['PORTCULLIS_GATEWAY_CLASS_NAME', ABSENT]),
  told('gatewayClassParametersRefs', refs, ['PORTCULLIS_GATEWAY_CLASS_PARAMETERS_REFS', JSON.stringify(refs)]),
  ['image.pullPolicy', 'Always', 'Deployment', `${CONTROLLER}.imagePullPolicy`],
  ['image.registry', 'r', 'Deployment', `${CONTROLLER}.image`, { expect: 'r/controller:0.1.0' }],
  told('image.registry', 'r', ['PORTCULLIS_PROXY_IMAGE_REGISTRY', 'r']),
  ['image.tag', '9', 'Deployment', `${CONTROLLER}.image`, { expect: 'ghcr.io/portcullis-dev/controller:9' }],
  ['image.tag', 9, 'Deployment', `${CONTROLLER}.image`, { expect: 'ghcr.io/portcullis-dev/controller:9' }],
  told('image.tag', '9', ['PORTCULLIS_PROXY_IMAGE_TAG', '9']),
  told('image.tag', '', ['PORTCULLIS_PROXY_IMAGE_TAG', ABSENT]),
  ['imagePullSecrets', [{ name: 'pull' }], 'Deployment', `${POD}.imagePullSecrets`],
  told('inferenceExtension.enabled', true, ['PORTCULLIS_INFERENCE_EXTENSION_ENABLED', 'true']),
  told('inferenceExtension.enabled', false, ['PORTCULLIS_INFERENCE_EXTENSION_ENABLED', ABSENT]),
  told('istio.autoEnabled', true, ['PORTCULLIS_ISTIO_AUTO_ENABLED', 'true']),
  told('istio.caAddress', 'https://ca:15012', ['PORTCULLIS_ISTIO_CA_ADDRESS', 'https://ca:15012']),
  told('istio.clusterId', 'c', ['PORTCULLIS_ISTIO_CLUSTER_ID', 'c']),
  told('istio.namespace', 'mesh', ['PORTCULLIS_ISTIO_NAMESPACE', 'mesh']),
  told('istio.network', 'n', ['PORTCULLIS_ISTIO_NETWORK', 'n']),
  told('istio.revision', '1-28', ['PORTCULLIS_ISTIO_REVISION', '1-28']),
  ['monitoring.enabled', true, 'ServiceMonitor', 'spec.selector', { expect: { matchLabels: SELECTED } }],
  ['monitoring.enabled', true, 'ServiceMonitor', 'spec.namespaceSelector', { expect: { matchNames: ['shop'] } }],
  ['monitoring.grafanaDashboard.annotations', { folder: 'edge' }, 'ConfigMap', 'metadata.annotations', { with: monitored }],
  ['monitoring.grafanaDashboard.labels', { a: 'b' }, 'ConfigMap', 'metadata.labels.a', { expect: 'b', with: monitored }],
  ['monitoring.grafanaDashboard.labels', {}, 'ConfigMap', 'metadata.labels.grafana_dashboard', { expect: '1', with: monitored }],
  ['monitoring.proxy.gatewayClassNames', ['a', 'b'], 'PodMonitor', 'spec.selector.matchExpressions', { with: monitored, expect: [{ key: 'gateway.networking.k8s.io/gateway-class-name', operator: 'In', values: ['a', 'b'] }] }],
  ['monitoring.proxy.namespaceSelector', { any: true }, 'PodMonitor', 'spec.namespaceSelector', { with: monitored }],
  ['monitoring.proxy.namespaceSelector', {}, 'PodMonitor', 'spec.namespaceSelector', { with: monitored, expect: ABSENT }],
  ['monitoring.proxy.podMonitor.metricRelabelings', [relabeling], 'PodMonitor', 'spec.podMetricsEndpoints[0].metricRelabelings', { with: monitored }],
  ['monitoring.proxy.podMonitor.metricRelabelings', [relabeling], 'ServiceMonitor', 'spec.endpoints[0].metricRelabelings', { with: monitored, expect: ABSENT }],
  ['monitoring.proxy.podMonitor.podTargetLabels', ['app'], 'PodMonitor', 'spec.podTargetLabels', { with: monitored }],
  ['monitoring.proxy.podMonitor.relabelings', [relabeling], 'PodMonitor', 'spec.podMetricsEndpoints[0].relabelings', { with: monitored }],
  ['monitoring.proxy.podMonitor.scrapeClassicHistograms', false, 'PodMonitor', 'spec.scrapeClassicHistograms', { with: monitored }],
  ['monitoring.proxy.podMonitor.scrapeNativeHistograms', true, 'PodMonitor', 'spec.scrapeNativeHistograms', { with: monitored }],
  ['monitoring.proxy.podMonitor.scrapeNativeHistograms', false, 'PodMonitor', 'spec.scrapeNativeHistograms', { with: monitored, expect: ABSENT }],
  ['monitoring.serviceMonitor.extraLabels', { release: 'p' }, 'ServiceMonitor', 'metadata.labels.release', { expect: 'p', with: monitored }],
  ['monitoring.serviceMonitor.extraLabels', { release: 'p' }, 'PodMonitor', 'metadata.labels.release', { expect: 'p', with: { monitoring: { enabled: true, serviceMonitor: { enabled: false } } } }],
  ['monitoring.serviceMonitor.interval', '1m', 'ServiceMonitor', 'spec.endpoints[0].interval', { with: monitored }],
  ['monitoring.serviceMonitor.interval', '1m', 'PodMonitor', 'spec.podMetricsEndpoints[0].interval', { with: monitored }],
  ['monitoring.serviceMonitor.metricRelabelings', [relabeling], 'ServiceMonitor', 'spec.endpoints[0].metricRelabelings', { with: monitored }],
  ['monitoring.serviceMonitor.relabelings', [relabeling], 'ServiceMonitor', 'spec.endpoints[0].relabelings', { with: monitored }],
  ['monitoring.serviceMonitor.scrapeClassicHistograms', true, 'ServiceMonitor', 'spec.scrapeClassicHistograms', { with: monitored }],
  ['monitoring.serviceMonitor.scrapeNativeHistograms', true, 'ServiceMonitor', 'spec.scrapeNativeHistograms', { with: monitored }],
  ['nameOverride', 'foo', 'Deployment', 'metadata.name', { expect: 'edge-foo' }],
  ['nameOverride', 'foo', 'Deployment', 'spec.selector.matchLabels["app.kubernetes.io/name"]', { expect: 'foo' }],
  ['nodeSelector', { disk: 'ssd' }, 'Deployment', `${POD}.nodeSelector`],
  ['podAnnotations', { 'prometheus.io/port': '1' }, 'Deployment', ANNOTATIONS, { expect: { 'prometheus.io/port': '1', 'prometheus.io/path': '/metrics', 'prometheus.io/scrape': 'true' } }],
  ['podLabels', { a: 'b' }, 'Deployment', 'spec.template.metadata.labels', { expect: { a: 'b', ...SELECTED } }],
  ['podSecurityContext', { fsGroup: 7 }, 'Deployment', `${POD}.securityContext`, { expect: { fsGroup: 7, seccompProfile: { type: 'RuntimeDefault' } } }],
  told('proxy.image.registry', 'r', ['PORTCULLIS_PROXY_IMAGE_REGISTRY', 'r']),
  told('proxy.image.repository', 'p', ['PORTCULLIS_PROXY_IMAGE_REPOSITORY', 'p']),
  told('proxy.image.tag', '8', ['PORTCULLIS_PROXY_IMAGE_TAG', '8'], { with: { image: { tag: '9' } } }),
  ['proxy.image.tag', '8', 'Deployment', `${CONTROLLER}.image`, { expect: 'ghcr.io/portcullis-dev/controller:0.1.0' }],
  told('rbac.gatewayNamespaces', ['b', 'a', 'b'], ['PORTCULLIS_GATEWAY_NAMESPACES', '["b","a"]']),
  ['resources', { limits: { memory: '1Gi' } }, 'Deployment', `${CONTROLLER}.resources.limits`, { expect: { memory: '1Gi' } }],
  ['securityContext', {}, 'Deployment', `${CONTROLLER}.securityContext`, { expect: HARDENED }],
  ['securityContext', { runAsUser: 7 }, 'Deployment', `${CONTROLLER}.securityContext`],
  ['serviceAccount.annotations', { a: 'b' }, 'ServiceAccount', 'metadata.annotations'],
  ['serviceAccount.create', true, 'Deployment', `${POD}.serviceAccountName`, { expect: 'edge-portcullis' }],
  ['serviceAccount.name', 'mine', 'ServiceAccount', 'metadata.name'],
  ['serviceAccount.name', 'mine', 'Role', 'metadata.name', { expect: 'edge-portcullis-local', with: { serviceAccount: { create: false } } }],
  ['tolerations', [{ operator: 'Exists' }], 'Deployment', `${POD}.tolerations`],
  ['topologySpreadConstraints', [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }], 'Deployment', `${POD}.topologySpreadConstraints`],
  told('xBackend.enabled', true, ['PORTCULLIS_XBACKEND_ENABLED', 'true']),
  told('xBackend.enabled', false, ['PORTCULLIS_XBACKEND_ENABLED', ABSENT]),
]

/** Keys that are proven by a test of their own. */
export const CONTROL_PLANE_ELSEWHERE = [
  'istio.enabled',
  'monitoring.grafanaDashboard.enabled',
  'monitoring.proxy.podMonitor.enabled',
  'monitoring.serviceMonitor.enabled',
  'rbac.create',
]
