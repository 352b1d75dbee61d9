/** The subset of JSON Schema that values.schema.json needs. */
export type Shape = Readonly<Record<string, unknown>>

export const text: Shape = { type: 'string' }
export const bool: Shape = { type: 'boolean' }
export const anyObject: Shape = { type: 'object' }
/** A string, or an unquoted number. */
export const tag: Shape = { type: ['string', 'integer'] }
export const strings: Shape = { type: 'array', items: text }
export const objects: Shape = { type: 'array', items: anyObject }
/** Values of labels and annotations are strings; null removes a default. */
export const labels: Shape = { type: 'object', additionalProperties: { type: ['string', 'null'] } }
export const port: Shape = { type: 'integer', minimum: 1, maximum: 65_535 }
export const count: Shape = { type: 'integer', minimum: 0 }

export function int(minimum: number, maximum?: number): Shape {
  return { type: 'integer', minimum, ...(maximum === undefined ? {} : { maximum }) }
}

export function orNull(shape: Shape): Shape {
  return { ...shape, type: [shape['type'], 'null'].flat() }
}

/** Also allows null and a string, which is the type in the specification. */
function orText(shape: Shape, pattern: string): Shape {
  return { ...shape, type: [shape['type'], 'string', 'null'].flat(), pattern }
}

const DIGITS = '^[0-9]*$'

/** A number of retained objects; null leaves it to Kubernetes. */
export const countOrNothing = orText(count, DIGITS)

export function oneOf(...words: readonly string[]): Shape {
  return { enum: words }
}

/** A mapping that allows only these keys. */
export function mapping(properties: Readonly<Record<string, Shape>>): Shape {
  return { type: 'object', additionalProperties: false, properties }
}

export function isMapping(
  shape: Shape,
): shape is Shape & { readonly properties: Readonly<Record<string, Shape>> } {
  return shape['additionalProperties'] === false
}

/** A number or percentage of pods; an empty string means unset. */
export const countOrShare: Shape = {
  anyOf: [count, { type: 'string', pattern: '^([0-9]+%?)?$' }],
}

export const pullPolicy = oneOf('Always', 'IfNotPresent', 'Never', '')

export const secretNames: Shape = {
  type: 'array',
  items: { type: 'object', properties: { name: text }, required: ['name'] },
}

/** The fields of a Kubernetes Service that both charts pass through, except its ports. */
export const serviceFields: Readonly<Record<string, Shape>> = {
  enabled: bool,
  type: oneOf('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'),
  annotations: labels,
  extraLabels: labels,
  clusterIP: text,
  clusterIPs: strings,
  externalIPs: strings,
  externalName: text,
  externalTrafficPolicy: oneOf('', 'Cluster', 'Local'),
  internalTrafficPolicy: oneOf('', 'Cluster', 'Local'),
  healthCheckNodePort: orText(port, DIGITS),
  ipFamilies: { type: 'array', items: oneOf('IPv4', 'IPv6') },
  ipFamilyPolicy: oneOf('', 'SingleStack', 'PreferDualStack', 'RequireDualStack'),
  loadBalancerClass: text,
  loadBalancerIP: text,
  loadBalancerSourceRanges: strings,
  allocateLoadBalancerNodePorts: orText(bool, '^(true|false)?$'),
  publishNotReadyAddresses: bool,
  sessionAffinity: oneOf('', 'None', 'ClientIP'),
  sessionAffinityConfig: anyObject,
  trafficDistribution: text,
}

export const servicePorts: Shape = {
  type: 'array',
  items: {
    ...mapping({
      name: text,
      port,
      protocol: oneOf('TCP', 'UDP', 'SCTP'),
      targetPort: { anyOf: [port, text] },
      nodePort: port,
      appProtocol: text,
    }),
    required: ['port'],
  },
}

/** Fields of a monitor of the Prometheus operator. */
export const scrape: Readonly<Record<string, Shape>> = {
  enabled: bool,
  metricRelabelings: objects,
  relabelings: objects,
  scrapeClassicHistograms: bool,
  scrapeNativeHistograms: bool,
}

export const serviceAccount = mapping({ create: bool, name: text, annotations: labels })
export const interval: Shape = { type: 'string', pattern: '^([0-9]+(ms|s|m|h|d|w|y))+$' }
