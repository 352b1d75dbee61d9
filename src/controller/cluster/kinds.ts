/** A kind of object that is watched. */
export interface ResourceKind {
  readonly kind: string
  /** Empty for the core group. */
  readonly group: string
  /** The preferred version first; the first one that the API server serves is used. */
  readonly versions: readonly string[]
  readonly plural: string
  readonly isNamespaced: boolean
  /** Its CRD may be absent. */
  readonly isOptional: boolean
  /** The chart may not grant access to it: a kind that cannot be listed counts as absent. */
  readonly mayBeForbidden?: boolean
  readonly fieldSelector?: string
  readonly labelSelector?: string
  /** Watched only if this option of the chart is enabled. */
  readonly option?: 'models' | 'xBackend' | 'inferenceExtension'
}

const GATEWAY_API = 'gateway.networking.k8s.io'
const PORTCULLIS = 'portcullis.dev'
const X_GATEWAY_API = 'gateway.networking.x-k8s.io'
const INFERENCE = 'inference.networking.k8s.io'
const OF_INFERENCE = { option: 'inferenceExtension' } as const
const ISTIO = 'networking.istio.io'
const ISTIO_VERSIONS = ['v1', 'v1beta1', 'v1alpha3']

/** Gateways never refer to either type, and Helm releases are large. */
const USEFUL_SECRETS = 'type!=helm.sh/release.v1,type!=kubernetes.io/service-account-token'

/** Of these objects, only those deployed for Gateways matter, and a cluster has many others. */
const OF_GATEWAYS = { labelSelector: 'gateway.networking.k8s.io/gateway-name' }
const SCALERS = { ...OF_GATEWAYS, versions: ['v2'] }

export const KINDS: readonly ResourceKind[] = [
  core('Namespace', 'namespaces', { isNamespaced: false }),
  core('Service', 'services'),
  core('Secret', 'secrets', { fieldSelector: USEFUL_SECRETS }),
  core('ConfigMap', 'configmaps'),
  { ...core('EndpointSlice', 'endpointslices'), group: 'discovery.k8s.io' },
  { ...core('Deployment', 'deployments', OF_GATEWAYS), group: 'apps' },
  { ...core('DaemonSet', 'daemonsets', OF_GATEWAYS), group: 'apps' },
  core('ServiceAccount', 'serviceaccounts', OF_GATEWAYS),
  { ...core('PodDisruptionBudget', 'poddisruptionbudgets', OF_GATEWAYS), group: 'policy' },
  { ...core('HorizontalPodAutoscaler', 'horizontalpodautoscalers', SCALERS), group: 'autoscaling' },
  custom(GATEWAY_API, 'GatewayClass', 'gatewayclasses', ['v1', 'v1beta1'], false),
  custom(GATEWAY_API, 'Gateway', 'gateways', ['v1', 'v1beta1']),
  custom(GATEWAY_API, 'ListenerSet', 'listenersets', ['v1']),
  custom(GATEWAY_API, 'HTTPRoute', 'httproutes', ['v1', 'v1beta1']),
  custom(GATEWAY_API, 'GRPCRoute', 'grpcroutes', ['v1']),
  custom(GATEWAY_API, 'TLSRoute', 'tlsroutes', ['v1', 'v1alpha3', 'v1alpha2']),
  custom(GATEWAY_API, 'TCPRoute', 'tcproutes', ['v1', 'v1alpha2']),
  custom(GATEWAY_API, 'ReferenceGrant', 'referencegrants', ['v1', 'v1beta1']),
  custom(GATEWAY_API, 'BackendTLSPolicy', 'backendtlspolicies', ['v1', 'v1alpha3']),
  custom(PORTCULLIS, 'ProxyPolicy', 'proxypolicies', ['v1alpha1']),
  custom(PORTCULLIS, 'ProxyBackend', 'proxybackends', ['v1alpha1']),
  custom(PORTCULLIS, 'ProxyParameters', 'proxyparameters', ['v1alpha1']),
  { ...custom(ISTIO, 'ServiceEntry', 'serviceentries', ISTIO_VERSIONS), mayBeForbidden: true },
  { ...custom(ISTIO, 'WorkloadEntry', 'workloadentries', ISTIO_VERSIONS), mayBeForbidden: true },
  { ...custom(PORTCULLIS, 'ProxyModel', 'proxymodels', ['v1alpha1']), option: 'models' },
  { ...custom(X_GATEWAY_API, 'XBackend', 'xbackends', ['v1alpha1']), option: 'xBackend' },
  { ...custom(INFERENCE, 'InferencePool', 'inferencepools', ['v1']), ...OF_INFERENCE },
  core('Pod', 'pods', OF_INFERENCE),
]

export function kindNamed(kind: string): ResourceKind | undefined {
  return KINDS.find((one) => one.kind === kind)
}

/** The path of all objects of a kind, or of those in a namespace. */
export function pathOf(
  { group, plural }: Pick<ResourceKind, 'group' | 'plural'>,
  version: string,
  namespace?: string,
  name?: string,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const within = namespace === undefined || namespace === '' ? '' : `/namespaces/${namespace}`
  return `${root}${within}/${plural}${name === undefined ? '' : `/${name}`}`
}

function core(kind: string, plural: string, more: Partial<ResourceKind> = {}): ResourceKind {
  const usual = { group: '', versions: ['v1'], isNamespaced: true, isOptional: false }
  return { kind, plural, ...usual, ...more }
}

function custom(
  group: string,
  kind: string,
  plural: string,
  versions: readonly string[],
  isNamespaced = true,
): ResourceKind {
  return { kind, group, versions, plural, isNamespaced, isOptional: true }
}
