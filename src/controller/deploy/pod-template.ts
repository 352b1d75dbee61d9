import type { JsonObject, JsonValue } from '../../model/json.ts'
import { type DeployOptions, TOKEN_AUDIENCE } from './options.ts'
import { mergeEnv, type ProxyParameters } from './parameters.ts'
import { catalogMounts, shutdownOf } from './proxy-config.ts'

export interface ObjectNames {
  readonly own: string
  readonly xdsCa: string
  readonly sessionKey: string
}

export interface PodMetadata {
  readonly labels: JsonObject
  readonly annotations: JsonObject
  readonly serviceAccount: string
}

const METRICS_PORT = 15_020
const READINESS_PORT = 15_021
/** Half a day, since tokens are renewed when most of their lifetime is over. */
const TOKEN_SECONDS = 43_200
/** Requests keep arriving until every node knows that the pod terminates. */
const PRE_STOP_SECONDS = 5
const REQUESTS = { cpu: '100m', memory: '128Mi' }

const CA_FOLDER = '/etc/portcullis/xds-ca'
const TOKEN_FOLDER = '/var/run/secrets/portcullis'
const STATE_FOLDER = '/var/lib/portcullis'

type Variable = JsonObject & { readonly name: string }

export function podTemplate(
  parameters: ProxyParameters,
  options: DeployOptions,
  names: ObjectNames,
  { labels, annotations, serviceAccount }: PodMetadata,
): JsonObject {
  const { min, max } = shutdownOf(parameters)
  const resources = resourcesOf(parameters)
  const { volumes, volumeMounts } = volumesOf(parameters, options, names)
  const probe = (path: string) => ({ httpGet: { path, port: 'readiness' } })
  return {
    metadata: {
      labels,
      annotations: {
        'prometheus.io/path': '/metrics',
        'prometheus.io/port': `${METRICS_PORT}`,
        'prometheus.io/scrape': 'true',
        ...annotations,
      },
    },
    spec: {
      serviceAccountName: serviceAccount,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: Math.max(30, min + max + 3 * PRE_STOP_SECONDS),
      securityContext: {
        seccompProfile: { type: 'RuntimeDefault' },
        // Allows ports below 1024 without a capability.
        sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }],
      },
      containers: [
        {
          name: 'portcullis',
          ...imageOf(parameters, options),
          args: ['run', '--file', '/config/config.yaml'],
          env: variablesOf(parameters, options, names, resources),
          ports: [
            { name: 'readiness', containerPort: READINESS_PORT, protocol: 'TCP' },
            { name: 'metrics', containerPort: METRICS_PORT, protocol: 'TCP' },
          ],
          // Ready with its first configuration, which may take the controller some time.
          readinessProbe: { ...probe('/healthz/ready'), periodSeconds: 1, failureThreshold: 2 },
          // A busy node may need more time, too: a restart would only increase its load.
          startupProbe: { ...probe('/healthz/live'), periodSeconds: 1, failureThreshold: 600 },
          livenessProbe: {
            ...probe('/healthz/live'),
            periodSeconds: 10,
            timeoutSeconds: 5,
            failureThreshold: 6,
          },
          lifecycle: { preStop: { sleep: { seconds: PRE_STOP_SECONDS } } },
          resources,
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
            readOnlyRootFilesystem: true,
            runAsNonRoot: true,
          },
          volumeMounts,
        },
      ],
      volumes,
    },
  }
}

function imageOf({ image = {} }: ProxyParameters, { image: own }: DeployOptions): JsonObject {
  const { registry = own.registry, repository = own.repository, tag = own.tag, digest } = image
  const name = registry === '' ? repository : `${registry.replace(/\/$/, '')}/${repository}`
  const pullPolicy = image.pullPolicy ?? own.pullPolicy
  return {
    image: digest === undefined ? `${name}:${tag}` : `${name}@${digest}`,
    ...(pullPolicy !== undefined && { imagePullPolicy: pullPolicy }),
  }
}

function resourcesOf({ resources = {} }: ProxyParameters): JsonObject {
  const { requests = {}, limits = {} } = resources
  return {
    requests: { ...REQUESTS, ...requests },
    ...(Object.keys(limits).length > 0 && { limits }),
  }
}

function variablesOf(
  { env = [], istio = {} }: ProxyParameters,
  options: DeployOptions,
  names: ObjectNames,
  resources: JsonObject,
): readonly Variable[] {
  const field = (name: string, fieldPath: string): Variable => ({
    name,
    valueFrom: { fieldRef: { fieldPath } },
  })
  const request = (name: string, resource: string, divisor: string): Variable => ({
    name,
    valueFrom: { resourceFieldRef: { resource: `requests.${resource}`, divisor } },
  })
  const limits = resources['limits'] as JsonObject | undefined
  const own: Variable[] = [
    field('POD_NAME', 'metadata.name'),
    field('POD_NAMESPACE', 'metadata.namespace'),
    // With a limit, the process can read the limit itself.
    ...(limits?.['cpu'] === undefined ? [request('PORTCULLIS_CPU_REQUEST', 'cpu', '1m')] : []),
    request('PORTCULLIS_MEMORY_REQUEST', 'memory', '1'),
    { name: 'PORTCULLIS_XDS_ADDRESS', value: options.xdsAddress },
    ...(options.xdsCa === undefined
      ? []
      : [{ name: 'PORTCULLIS_XDS_CA', value: `${CA_FOLDER}/ca.crt` }]),
    { name: 'PORTCULLIS_XDS_TOKEN', value: `${TOKEN_FOLDER}/token` },
    { name: 'PORTCULLIS_XDS_STATE', value: `${STATE_FOLDER}/state.json` },
    {
      name: 'SESSION_KEY',
      valueFrom: { secretKeyRef: { name: names.sessionKey, key: 'key' } },
    },
    ...(istio['enabled'] === true ? istioVariables(istio) : []),
  ]
  return mergeEnv(own, env)
}

function istioVariables(istio: JsonObject): Variable[] {
  const named: readonly (readonly [string, JsonValue | undefined])[] = [
    ['PORTCULLIS_ISTIO_CA_ADDRESS', istio['caAddress']],
    ['PORTCULLIS_ISTIO_TRUST_DOMAIN', istio['trustDomain']],
    ['PORTCULLIS_ISTIO_CLUSTER_ID', istio['clusterId']],
    ['PORTCULLIS_ISTIO_NETWORK', istio['network']],
  ]
  return named.flatMap(([name, value]) => (typeof value === 'string' ? [{ name, value }] : []))
}

function volumesOf(
  parameters: ProxyParameters,
  { xdsCa }: DeployOptions,
  names: ObjectNames,
): { readonly volumes: JsonValue; readonly volumeMounts: JsonValue } {
  const token = { audience: TOKEN_AUDIENCE, expirationSeconds: TOKEN_SECONDS, path: 'token' }
  const all: (readonly [name: string, mountPath: string, isReadOnly: boolean, JsonObject])[] = [
    ['config', '/config', true, { configMap: { name: names.own } }],
    ['tmp', '/tmp', false, { emptyDir: {} }],
    // The directory contains keys, so it is in memory, like Secrets.
    ['state', STATE_FOLDER, false, { emptyDir: { medium: 'Memory' } }],
    ['xds-token', TOKEN_FOLDER, true, { projected: { sources: [{ serviceAccountToken: token }] } }],
  ]
  if (xdsCa !== undefined) {
    all.push(['xds-ca', CA_FOLDER, true, { configMap: { name: names.xdsCa } }])
  }
  for (const { volume, configMap, folder } of catalogMounts(parameters)) {
    all.push([volume, folder, true, { configMap: { name: configMap } }])
  }
  return {
    volumes: all.map(([name, , , source]) => ({ name, ...source })),
    volumeMounts: all.map(([name, mountPath, isReadOnly]) => ({
      name,
      mountPath,
      ...(isReadOnly && { readOnly: true }),
    })),
  }
}
