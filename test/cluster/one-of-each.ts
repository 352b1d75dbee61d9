// An object of every kind that the controller watches and users write.

const GATEWAY_API = 'gateway.networking.k8s.io'
const of = (apiVersion: string, kind: string, spec: object) => ({
  apiVersion,
  kind,
  metadata: { name: 'all', namespace: 'shop' },
  spec,
})

export const PARAMETERS = of('portcullis.dev/v1alpha1', 'ProxyParameters', {
  workload: { kind: 'DaemonSet' },
})

const PARENTS = { parentRefs: [{ name: 'all' }] }
const RULES = { rules: [{ backendRefs: [{ name: 'target', port: 80 }] }] }

/** The definitions of a mesh, as far as the API server needs them. */
export const MESH = [
  ['ServiceEntry', 'serviceentries'],
  ['WorkloadEntry', 'workloadentries'],
].map(([kind = '', plural = '']) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.networking.istio.io` },
  spec: {
    group: 'networking.istio.io',
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
}))

/** They belong together, and are all named `all` in `shop`. */
export const OBJECTS: readonly object[] = [
  {
    ...of('v1', 'Service', { ports: [{ name: 'web', port: 80 }] }),
    metadata: { name: 'target', namespace: 'shop' },
  },
  of('portcullis.dev/v1alpha1', 'ProxyModel', { ...PARENTS, provider: 'OpenAI' }),
  of(`${GATEWAY_API}/v1`, 'Gateway', {
    gatewayClassName: 'portcullis',
    infrastructure: {
      parametersRef: { group: 'portcullis.dev', kind: 'ProxyParameters', name: 'all' },
    },
    listeners: [
      { name: 'http', protocol: 'HTTP', port: 80 },
      { name: 'tcp', protocol: 'TCP', port: 81 },
      { name: 'tls', protocol: 'TLS', port: 82, tls: { mode: 'Passthrough' } },
    ],
    allowedListeners: { namespaces: { from: 'Same' } },
  }),
  of(`${GATEWAY_API}/v1`, 'ListenerSet', {
    parentRef: { group: GATEWAY_API, kind: 'Gateway', name: 'all' },
    listeners: [{ name: 'more', protocol: 'HTTP', port: 83 }],
  }),
  of(`${GATEWAY_API}/v1`, 'HTTPRoute', { ...PARENTS, ...RULES }),
  of(`${GATEWAY_API}/v1`, 'GRPCRoute', { ...PARENTS, ...RULES }),
  of(`${GATEWAY_API}/v1`, 'TLSRoute', { ...PARENTS, ...RULES, hostnames: ['a.example.com'] }),
  of(`${GATEWAY_API}/v1alpha2`, 'TCPRoute', { ...PARENTS, ...RULES }),
  of(`${GATEWAY_API}/v1`, 'BackendTLSPolicy', {
    targetRefs: [{ group: '', kind: 'Service', name: 'target' }],
    validation: { wellKnownCACertificates: 'System', hostname: 'a.example.com' },
  }),
  of('portcullis.dev/v1alpha1', 'ProxyBackend', { static: { host: 'a.example.com', port: 80 } }),
  of('portcullis.dev/v1alpha1', 'ProxyPolicy', {
    targetRefs: [{ group: GATEWAY_API, kind: 'Gateway', name: 'all' }],
    traffic: { authorization: { action: 'Allow', policy: { matchExpressions: ['nobody'] } } },
  }),
]
