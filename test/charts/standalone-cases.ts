import { serviceCases } from './service-cases.ts'
import { ABSENT, type LandingCase, variable } from './values.ts'

const POD = 'spec.template.spec'
const PROXY = `${POD}.containers[0]`
const monitored = { monitoring: { enabled: true } }
/** Requests no resources, so that the chart sets no variables for the proxy. */
const modest = { resources: { requests: null } }
const budget = { podDisruptionBudget: { enabled: true } }
const MATCH = { matchLabels: LABELS() }

function LABELS(name = 'portcullis-standalone') {
  return {
    'app.kubernetes.io/name': name,
    'app.kubernetes.io/instance': 'edge',
    'app.kubernetes.io/component': 'proxy',
  }
}

const sidecar = { name: 'sidecar', image: 'example.com/sidecar:1' }
const relabeling = { sourceLabels: ['__name__'], regex: 'portcullis_process_.*', action: 'drop' }

/** The field that each value of portcullis-standalone sets. */
// biome-ignore format: a table, one case to a line
export const STANDALONE_CASES: readonly LandingCase[] = [
  ...serviceCases('gateway.service'),
  ['affinity', { podAntiAffinity: {} }, 'Deployment', `${POD}.affinity`],
  ['affinity', {}, 'Deployment', `${POD}.affinity`, { expect: ABSENT }],
  ['autoscaling', { enabled: true, minReplicas: 2, maxReplicas: 9 }, 'HorizontalPodAutoscaler', 'spec.maxReplicas', { expect: 9 }],
  ['autoscaling', { enabled: true, minReplicas: 2 }, 'HorizontalPodAutoscaler', 'spec.minReplicas', { expect: 2 }],
  ['autoscaling', { enabled: true }, 'HorizontalPodAutoscaler', 'spec.scaleTargetRef', { expect: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'edge' } }],
  ['autoscaling', { enabled: true }, 'Deployment', 'spec.replicas', { expect: ABSENT }],
  ['autoscaling', { enabled: true, annotations: { a: 'b' } }, 'HorizontalPodAutoscaler', 'metadata.annotations', { expect: { a: 'b' } }],
  ['autoscaling', { enabled: true }, 'HorizontalPodAutoscaler', 'metadata.annotations', { expect: ABSENT }],
  ['autoscaling', { enabled: true, behavior: { scaleDown: { stabilizationWindowSeconds: 60 } } }, 'HorizontalPodAutoscaler', 'spec.behavior', { expect: { scaleDown: { stabilizationWindowSeconds: 60 } } }],
  ['autoscaling', { enabled: true }, 'HorizontalPodAutoscaler', 'spec.behavior', { expect: ABSENT }],
  ['autoscaling', { enabled: true, targetCPUUtilizationPercentage: 55 }, 'HorizontalPodAutoscaler', 'spec.metrics', { expect: [resource('cpu', 55), resource('memory', 80)] }],
  ['autoscaling', { enabled: true, targetMemoryUtilizationPercentage: null }, 'HorizontalPodAutoscaler', 'spec.metrics', { expect: [resource('cpu', 80)] }],
  ['autoscaling', { enabled: true, targetCPUUtilizationPercentage: null, targetMemoryUtilizationPercentage: null }, 'HorizontalPodAutoscaler', 'spec.metrics', { expect: ABSENT }],
  ['commonLabels', { team: 'edge' }, 'Deployment', 'spec.selector', { expect: MATCH }],
  ['commonLabels', { team: 'edge' }, 'Deployment', 'spec.template.metadata.labels', { expect: LABELS() }],
  ['commonLabels', { 'app.kubernetes.io/name': 'mine' }, 'Deployment', 'metadata.labels["app.kubernetes.io/name"]', { expect: 'portcullis-standalone' }],
  ['dnsConfig', { options: [{ name: 'ndots', value: '2' }] }, 'Deployment', `${POD}.dnsConfig`],
  ['dnsConfig', {}, 'Deployment', `${POD}.dnsConfig`, { expect: ABSENT }],
  ['extraContainers', [sidecar], 'Deployment', `${POD}.containers[1]`, { expect: sidecar }],
  ['extraContainers', [sidecar], 'Deployment', `${PROXY}.name`, { expect: 'portcullis' }],
  ['extraEnv', [{ name: 'A', value: 'b' }], 'Deployment', variable('A'), { expect: 'b' }],
  ['extraEnv', [{ name: 'A', value: 1500000 }], 'Deployment', variable('A'), { expect: '1500000' }],
  ['extraEnv', [{ name: 'A', value: true }], 'Deployment', variable('A'), { expect: 'true' }],
  ['extraEnv', [{ name: 'SESSION_KEY', value: 'k' }], 'Deployment', `${PROXY}.env`, { with: { ...modest, session: { secretName: 's' }, oidc: { enabled: false } } }],
  ['extraEnv', [{ name: 'OIDC_COOKIE_SECRET', value: 'k' }], 'Deployment', `${PROXY}.env`, { with: { ...modest, oidc: { enabled: true, cookieSecretName: 's' } } }],
  ['extraEnv', [], 'Deployment', `${PROXY}.env`, { with: modest, expect: ABSENT }],
  ['extraVolumeMounts', [{ name: 'keys', mountPath: '/keys' }], 'Deployment', `${PROXY}.volumeMounts[2]`, { expect: { name: 'keys', mountPath: '/keys' } }],
  ['extraVolumes', [{ name: 'keys', secret: { secretName: 'keys' } }], 'Deployment', `${POD}.volumes[2]`, { expect: { name: 'keys', secret: { secretName: 'keys' } } }],
  ['fullnameOverride', 'front', 'Deployment', 'metadata.name'],
  ['fullnameOverride', 'front', 'Service', 'metadata.name'],
  ['fullnameOverride', 'front', 'ServiceAccount', 'metadata.name'],
  ['fullnameOverride', 'a'.repeat(80), 'Deployment', 'metadata.name', { expect: 'a'.repeat(63) }],
  ['gateway.extraServices', [{ name: 'admin', ports: [{ port: 8080 }] }], 'Service/edge-admin', 'spec.ports', { expect: [{ port: 8080, targetPort: 8080, protocol: 'TCP' }] }],
  ['gateway.extraServices', [{ name: 'admin', ports: [{ port: 8080 }] }], `Service/${'a'.repeat(57)}-admin`, 'spec.type', { expect: 'LoadBalancer', with: { fullnameOverride: 'a'.repeat(63) } }],
  ['gateway.extraServices', [{ name: 'admin', ports: [{ port: 8080 }] }], 'Service/edge-admin', 'spec.selector', { expect: LABELS() }],
  ['gateway.extraServices', [{ name: 'admin', ports: [{ port: 8080 }] }], 'Service/edge-admin', 'spec.type', { expect: 'LoadBalancer' }],
  ['gateway.extraServices', [{ name: 'admin', type: 'ClusterIP', clusterIP: 'None', ports: [{ port: 8080 }], annotations: { a: 'b' } }], 'Service/edge-admin', 'spec.clusterIP', { expect: 'None' }],
  ['gateway.extraServices', [{ name: 'admin', ports: [{ port: 8080 }], annotations: { a: 'b' } }], 'Service/edge-admin', 'metadata.annotations', { expect: { a: 'b' } }],
  ['gateway.extraServices', [{ name: 'admin', ports: [{ port: 8080 }] }], 'Service', 'metadata.name', { expect: 'edge-admin', with: { gateway: { service: { enabled: false } } } }],
  ['gateway.extraServices', [{ name: 'admin', ports: [{ port: 8080 }] }], 'Service/edge-admin', 'spec.sessionAffinity', { expect: ABSENT, with: { gateway: { service: { sessionAffinity: 'ClientIP' } } } }],
  ['gateway.service.enabled', true, 'Service', 'metadata.name', { expect: 'edge' }],
  ['gateway.service.ports', [{ name: 'https', port: 443, targetPort: 8443, protocol: 'TCP', nodePort: 30_443, appProtocol: 'https' }], 'Service', 'spec.ports'],
  ['gateway.service.ports', [{ port: 53, protocol: 'UDP' }], 'Service', 'spec.ports', { expect: [{ port: 53, protocol: 'UDP', targetPort: 53 }] }],
  ['image.pullPolicy', 'Always', 'Deployment', `${PROXY}.imagePullPolicy`],
  ['image.registry', 'registry.example.com:5000/mirror/', 'Deployment', `${PROXY}.image`, { expect: 'registry.example.com:5000/mirror/portcullis-proxy:0.1.0' }],
  ['image.registry', '', 'Deployment', `${PROXY}.image`, { expect: 'portcullis-proxy:0.1.0' }],
  ['image.repository', 'mine', 'Deployment', `${PROXY}.image`, { expect: 'ghcr.io/portcullis-dev/mine:0.1.0' }],
  ['image.tag', '1.2.3', 'Deployment', `${PROXY}.image`, { expect: 'ghcr.io/portcullis-dev/portcullis-proxy:1.2.3' }],
  ['image.tag', 20260101, 'Deployment', `${PROXY}.image`, { expect: 'ghcr.io/portcullis-dev/portcullis-proxy:20260101' }],
  ['image.tag', null, 'Deployment', `${PROXY}.image`, { expect: 'ghcr.io/portcullis-dev/portcullis-proxy:0.1.0' }],
  ['image.tag', 7, 'Deployment', `${PROXY}.image`, { expect: 'ghcr.io/portcullis-dev/portcullis-proxy:7' }],
  ['imagePullSecrets', [{ name: 'pull' }], 'Deployment', `${POD}.imagePullSecrets`],
  ['monitoring.annotations', { a: 'b' }, 'PodMonitor', 'metadata.annotations', { with: monitored }],
  ['monitoring.annotations', {}, 'PodMonitor', 'metadata.annotations', { with: monitored, expect: ABSENT }],
  ['monitoring.enabled', true, 'Deployment', `${PROXY}.ports[1]`, { expect: { name: 'metrics', containerPort: 15_020 } }],
  ['monitoring.enabled', false, 'Deployment', `${PROXY}.ports[1]`, { expect: ABSENT }],
  ['monitoring.enabled', true, 'PodMonitor', 'spec.selector', { expect: MATCH }],
  ['monitoring.extraLabels', { release: 'prometheus' }, 'PodMonitor', 'metadata.labels.release', { expect: 'prometheus', with: monitored }],
  ['monitoring.podMonitor.enabled', false, 'Deployment', `${PROXY}.ports[1].name`, { expect: 'metrics', with: monitored }],
  ['monitoring.podMonitor.interval', '1m', 'PodMonitor', 'spec.podMetricsEndpoints', { expect: [{ port: 'metrics', path: '/metrics', interval: '1m' }], with: monitored }],
  ['monitoring.podMonitor.metricRelabelings', [relabeling], 'PodMonitor', 'spec.podMetricsEndpoints[0].metricRelabelings', { with: monitored }],
  ['monitoring.podMonitor.relabelings', [relabeling], 'PodMonitor', 'spec.podMetricsEndpoints[0].relabelings', { with: monitored }],
  ['monitoring.podMonitor.scrapeClassicHistograms', true, 'PodMonitor', 'spec.scrapeClassicHistograms', { with: monitored }],
  ['monitoring.podMonitor.scrapeClassicHistograms', false, 'PodMonitor', 'spec.scrapeClassicHistograms', { with: monitored }],
  ['monitoring.podMonitor.scrapeNativeHistograms', true, 'PodMonitor', 'spec.scrapeNativeHistograms', { with: monitored }],
  ['monitoring.podMonitor.scrapeNativeHistograms', false, 'PodMonitor', 'spec.scrapeNativeHistograms', { with: monitored, expect: ABSENT }],
  ['nameOverride', 'front', 'Deployment', 'spec.selector.matchLabels', { expect: LABELS('front') }],
  ['nameOverride', 'front', 'Deployment', 'metadata.name', { expect: 'edge' }],
  ['nodeSelector', { disk: 'ssd' }, 'Deployment', `${POD}.nodeSelector`],
  ['oidc.cookieSecretName', 'cookies', 'Deployment', `${PROXY}.env`, { with: { ...modest, oidc: { enabled: true } }, expect: [{ name: 'OIDC_COOKIE_SECRET', valueFrom: { secretKeyRef: { name: 'cookies', key: 'OIDC_COOKIE_SECRET' } } }] }],
  ['oidc.enabled', false, 'Deployment', `${PROXY}.env`, { with: { ...modest, oidc: { cookieSecretName: 'cookies' } }, expect: ABSENT }],
  ['podAnnotations', { a: 'b' }, 'Deployment', 'spec.template.metadata.annotations.a', { expect: 'b' }],
  ['podAnnotations', { a: 'b' }, 'Deployment', 'spec.template.metadata.annotations["prometheus.io/port"]', { expect: '15020' }],
  ['podAnnotations', { 'prometheus.io/scrape': null }, 'Deployment', 'spec.template.metadata.annotations["prometheus.io/scrape"]', { expect: ABSENT }],
  ['podDisruptionBudget', { enabled: true }, 'PodDisruptionBudget', 'spec', { expect: { minAvailable: 1, selector: MATCH } }],
  ['podDisruptionBudget', { enabled: true, minAvailable: '50%' }, 'PodDisruptionBudget', 'spec.minAvailable', { expect: '50%' }],
  ['podDisruptionBudget.maxUnavailable', 1, 'PodDisruptionBudget', 'spec', { with: budget, expect: { maxUnavailable: 1, selector: MATCH } }],
  ['podDisruptionBudget.maxUnavailable', '25%', 'PodDisruptionBudget', 'spec', { with: budget, expect: { maxUnavailable: '25%', selector: MATCH } }],
  ['podDisruptionBudget.maxUnavailable', 0, 'PodDisruptionBudget', 'spec', { with: budget, expect: { minAvailable: 1, selector: MATCH } }],
  ['podDisruptionBudget.maxUnavailable', '', 'PodDisruptionBudget', 'spec', { with: budget, expect: { minAvailable: 1, selector: MATCH } }],
  ['podDisruptionBudget.maxUnavailable', '0', 'PodDisruptionBudget', 'spec', { with: budget, expect: { minAvailable: 1, selector: MATCH } }],
  ['podDisruptionBudget.unhealthyPodEvictionPolicy', 'AlwaysAllow', 'PodDisruptionBudget', 'spec.unhealthyPodEvictionPolicy', { with: budget }],
  ['podLabels', { app: 'mine' }, 'Deployment', 'spec.template.metadata.labels', { expect: { app: 'mine', ...LABELS() } }],
  ['podLabels', { 'app.kubernetes.io/instance': 'mine' }, 'Deployment', 'spec.template.metadata.labels', { expect: LABELS() }],
  ['podSecurityContext', { fsGroup: 2000 }, 'Deployment', `${POD}.securityContext`, { expect: { fsGroup: 2000, seccompProfile: { type: 'RuntimeDefault' } } }],
  ['podSecurityContext', { seccompProfile: { type: 'Unconfined' } }, 'Deployment', `${POD}.securityContext`],
  ['replicaCount', 3, 'Deployment', 'spec.replicas'],
  ['replicaCount', 0, 'Deployment', 'spec.replicas'],
  ['resources', { limits: { memory: '1Gi' } }, 'Deployment', `${PROXY}.resources`, { expect: { limits: { memory: '1Gi' }, requests: { cpu: '100m', memory: '128Mi' } } }],
  ['revisionHistoryLimit', 0, 'Deployment', 'spec.revisionHistoryLimit'],
  ['revisionHistoryLimit', '0', 'Deployment', 'spec.revisionHistoryLimit', { expect: 0 }],
  ['revisionHistoryLimit', '', 'Deployment', 'spec.revisionHistoryLimit', { expect: ABSENT }],
  ['revisionHistoryLimit', null, 'Deployment', 'spec.revisionHistoryLimit', { expect: ABSENT }],
  ['securityContext', { runAsUser: 1000 }, 'Deployment', `${PROXY}.securityContext`, { expect: { runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true, runAsNonRoot: true } }],
  ['serviceAccount.annotations', { role: 'arn' }, 'ServiceAccount', 'metadata.annotations'],
  ['serviceAccount.create', false, 'Deployment', `${POD}.serviceAccountName`, { expect: ABSENT }],
  ['serviceAccount.create', true, 'Deployment', `${POD}.serviceAccountName`, { expect: 'edge' }],
  ['serviceAccount.name', 'mine', 'ServiceAccount', 'metadata.name'],
  ['serviceAccount.name', 'mine', 'Deployment', `${POD}.serviceAccountName`, { with: { serviceAccount: { create: false } } }],
  ['session.secretName', 'session', 'Deployment', `${PROXY}.env`, { with: modest, expect: [{ name: 'SESSION_KEY', valueFrom: { secretKeyRef: { name: 'session', key: 'key' } } }] }],
  ['strategy', { type: 'Recreate' }, 'Deployment', 'spec.strategy'],
  ['strategy', {}, 'Deployment', 'spec.strategy', { expect: ABSENT }],
  ['tolerations', [{ key: 'edge', operator: 'Exists' }], 'Deployment', `${POD}.tolerations`],
]

function resource(name: string, averageUtilization: number) {
  return {
    type: 'Resource',
    resource: { name, target: { type: 'Utilization', averageUtilization } },
  }
}

/** Keys with a test of their own. */
export const STANDALONE_ELSEWHERE = ['config', 'database.postgres.url', 'mode', 'namespaceOverride']
