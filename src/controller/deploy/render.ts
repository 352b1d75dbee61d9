import { createHash } from 'node:crypto'
import { canonicalJson, type JsonObject, type JsonValue } from '../../model/json.ts'
import { objectName } from './object-name.ts'
import type { DeployOptions } from './options.ts'
import { mergeParameters, type OverlayName, type ProxyParameters } from './parameters.ts'
import { podTemplate } from './pod-template.ts'
import { proxyConfig } from './proxy-config.ts'
import { strategicMerge } from './strategic-merge.ts'

/** The properties of a Gateway that affect its deployment. */
export interface DeployedGateway {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly className: string
  /** For its listeners and those of its ListenerSets. */
  readonly ports: readonly number[]
  /** IP addresses that it requests. */
  readonly addresses: readonly string[]
  readonly labels?: Labels
  readonly annotations?: Labels
}

type Labels = Readonly<Record<string, string>>

export interface DeployedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Labels
    readonly annotations?: Labels
    readonly ownerReferences: readonly JsonObject[]
  }
  readonly [field: string]: unknown
}

const GATEWAY_LABEL = 'gateway.networking.k8s.io/gateway-name'
export const CLASS_LABEL = 'gateway.networking.k8s.io/gateway-class-name'
/** Labels of the Gateway API: `infrastructure` may not set them. */
const RESERVED = 'gateway.networking.k8s.io/'
export const MANAGER = 'portcullis'

/**
 * All objects deployed for a Gateway. `parameters`: those of the class, then those of the Gateway,
 * if there are any. Pure: equal input gives equal objects.
 */
export function renderGateway(
  gateway: DeployedGateway,
  parameters: readonly ProxyParameters[],
  options: DeployOptions,
): readonly DeployedObject[] {
  const merged = mergeParameters(parameters)
  const name = objectName(gateway.name)
  const names = {
    own: name,
    xdsCa: objectName(gateway.name, '-xds-ca'),
    sessionKey: objectName(gateway.name, '-session-key'),
  }
  const selector = { [GATEWAY_LABEL]: name, 'app.kubernetes.io/instance': name }
  const labels = {
    ...withoutReserved(gateway.labels),
    ...selector,
    'app.kubernetes.io/name': 'portcullis-proxy',
    'app.kubernetes.io/managed-by': MANAGER,
    [CLASS_LABEL]: objectName(gateway.className),
  }
  const annotations = withoutReserved(gateway.annotations)
  const make = (
    apiVersion: string,
    kind: string,
    content: JsonObject,
    overlay?: OverlayName,
    own = name,
  ): DeployedObject => {
    const base: JsonObject = {
      apiVersion,
      kind,
      metadata: {
        name: own,
        namespace: gateway.namespace,
        labels,
        ...(Object.keys(annotations).length > 0 && { annotations }),
        ownerReferences: [ownerOf(gateway)],
      },
      ...content,
    }
    return overlaid(base, overlay, parameters) as unknown as DeployedObject
  }

  const config = canonicalJson(proxyConfig(merged))
  const template = podTemplate(merged, options, names, {
    labels,
    annotations: { ...annotations, 'checksum/config': digestOf(config) },
    serviceAccount: name,
  })
  const isDaemonSet = merged.workload?.kind === 'DaemonSet'
  const workload = isDaemonSet ? 'DaemonSet' : 'Deployment'
  const spec = { selector: { matchLabels: selector }, template }
  const objects = [
    make('v1', 'ServiceAccount', { automountServiceAccountToken: false }, 'serviceAccount'),
    make('v1', 'ConfigMap', { data: { 'config.yaml': config } }),
    make(
      'v1',
      'Secret',
      { type: 'Opaque', data: { key: options.sessionKey } },
      undefined,
      names.sessionKey,
    ),
    make('apps/v1', workload, { spec }, isDaemonSet ? 'daemonSet' : 'deployment'),
  ]
  if (options.xdsCa !== undefined) {
    const data = { 'ca.crt': options.xdsCa }
    objects.push(make('v1', 'ConfigMap', { data }, undefined, names.xdsCa))
  }
  // A Service must have a port.
  if (gateway.ports.length > 0) {
    objects.push(make('v1', 'Service', { spec: serviceSpec(gateway, selector) }, 'service'))
  }
  if (merged.podDisruptionBudget !== undefined) {
    const budget = { spec: { selector: { matchLabels: selector } } }
    objects.push(make('policy/v1', 'PodDisruptionBudget', budget, 'podDisruptionBudget'))
  }
  if (merged.horizontalPodAutoscaler !== undefined && !isDaemonSet) {
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: workload, name }
    const scaler = { spec: { scaleTargetRef } }
    objects.push(
      make('autoscaling/v2', 'HorizontalPodAutoscaler', scaler, 'horizontalPodAutoscaler'),
    )
  }
  return objects
}

function serviceSpec({ ports, addresses }: DeployedGateway, selector: Labels): JsonObject {
  const distinct = [...new Set(ports)].sort((a, b) => a - b)
  const [address] = addresses
  return {
    type: 'LoadBalancer',
    selector,
    ports: distinct.map((port) => ({
      name: `listener-${port}`,
      port,
      targetPort: port,
      protocol: 'TCP',
    })),
    ...(address !== undefined && { loadBalancerIP: address }),
  }
}

/** Applies the overlays of the class and of the Gateway; they cannot change names and owners. */
function overlaid(
  base: JsonObject,
  overlay: OverlayName | undefined,
  parameters: readonly ProxyParameters[],
): JsonObject {
  if (overlay === undefined) return base
  const metadata = base['metadata'] as JsonObject
  return parameters.reduce((object, { [overlay]: own }) => {
    if (own === undefined) return object
    const { spec, metadata: further } = own
    const patched = strategicMerge(object, {
      ...(spec !== undefined && { spec }),
      metadata: { ...(further as JsonObject) },
    })
    const { labels, annotations } = patched['metadata'] as JsonObject
    const kept = { ...metadata, labels: { ...(labels as JsonObject), ...ownLabels(metadata) } }
    return { ...patched, metadata: annotations === undefined ? kept : { ...kept, annotations } }
  }, base)
}

/** Labels that selectors and the controller itself use, which overlays cannot change. */
function ownLabels({ labels }: JsonObject): JsonObject {
  const isOwn = ([key]: readonly [string, JsonValue | undefined]) =>
    key.startsWith(RESERVED) || key.startsWith('app.kubernetes.io/')
  return Object.fromEntries(Object.entries(labels as JsonObject).filter(isOwn))
}

function withoutReserved(labels: Labels = {}): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith(RESERVED)))
}

/** Without blockOwnerDeletion, which some clusters allow only to users who may change Gateways. */
function ownerOf({ name, uid }: DeployedGateway): JsonObject {
  const apiVersion = 'gateway.networking.k8s.io/v1'
  return { apiVersion, kind: 'Gateway', name, uid, controller: true }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
