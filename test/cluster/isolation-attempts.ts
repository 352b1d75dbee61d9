// The objects by which one namespace can try to reach resources of another one.

import { GATEWAY_API, PORTCULLIS_API } from './plane.ts'
import { providerOf } from './tokens.ts'

/** Objects that one namespace creates, and the effect that they must not have. */
interface Attempt {
  readonly objects: readonly object[]
  /** An object, and a condition that reports the rejection. */
  readonly rejected?: readonly [path: string, conditions: Readonly<Record<string, string>>]
}

export const GROUP = 'gateway.networking.k8s.io'
export const gatewayApi = (kind: string, name: string, spec: object, namespace = 'shop') => ({
  apiVersion: `${GROUP}/v1`,
  kind,
  metadata: { name, namespace },
  spec,
})
const grantApi = (name: string, spec: object, namespace = 'shop') => ({
  apiVersion: `${GROUP}/v1beta1`,
  kind: 'ReferenceGrant',
  metadata: { name, namespace },
  spec,
})
export const policyOf = (name: string, spec: object, namespace = 'shop') => ({
  apiVersion: 'portcullis.dev/v1alpha1',
  kind: 'ProxyPolicy',
  metadata: { name, namespace },
  spec,
})
export const allowAll = { action: 'Allow', policy: { matchExpressions: ['true'] } }
export const SHARED = { name: 'shared', namespace: 'apps' }
const PRIVATE = { name: 'private', namespace: 'apps' }
export const route = (name: string, rest: object, parent: object = SHARED) =>
  gatewayApi('HTTPRoute', name, { parentRefs: [parent], hostnames: ['shop.example.com'], ...rest })
export const to = (ref: object) => ({ rules: [{ backendRefs: [ref] }] })
export const routePath = (name: string) => `${GATEWAY_API}/namespaces/shop/httproutes/${name}`
const policyPath = (name: string) => `${PORTCULLIS_API}/namespaces/shop/proxypolicies/${name}`
export const NOT_PERMITTED = { ResolvedRefs: 'False RefNotPermitted' }

export const grant = (namespace: string, kind: string) => [
  grantApi(
    'to-me',
    {
      from: [{ group: GROUP, kind, namespace: 'shop' }],
      to: [
        { group: '', kind: 'Service' },
        { group: '', kind: 'Secret' },
        { group: 'portcullis.dev', kind: 'ProxyBackend' },
      ],
    },
    namespace,
  ),
]
const forgedProvider = providerOf('shop').provider
// biome-ignore format: a table
export const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'a route on a listener that takes none of others': {
    objects: [route('in', to({ name: 'own', port: 8080 }), PRIVATE)],
    rejected: [routePath('in'), { Accepted: 'False NotAllowedByListeners' }],
  },
  'a route to a Service of apps': {
    objects: [route('over', to({ name: 'secret', namespace: 'apps', port: 8080 }))],
    rejected: [routePath('over'), NOT_PERMITTED],
  },
  'the same with a grant of its own namespace': {
    objects: [...grant('shop', 'HTTPRoute'), route('over', to({ name: 'secret', namespace: 'apps', port: 8080 }))],
    rejected: [routePath('over'), NOT_PERMITTED],
  },
  'a route to a ProxyBackend of apps': {
    objects: [route('over', to({ group: 'portcullis.dev', kind: 'ProxyBackend', name: 'secret', namespace: 'apps' }))],
    rejected: [routePath('over'), NOT_PERMITTED],
  },
  'a mirror to a Service of apps': {
    objects: [route('copy', { rules: [{ filters: [{ type: 'RequestMirror', requestMirror: { backendRef: { name: 'secret', namespace: 'apps', port: 8080 } } }], backendRefs: [{ name: 'own', port: 8080 }] }] })],
    rejected: [routePath('copy'), NOT_PERMITTED],
  },
  'the hostname of apps, in an older or a longer path': {
    objects: [gatewayApi('HTTPRoute', 'take', { parentRefs: [PRIVATE], hostnames: ['apps.example.com'], rules: [{ matches: [{ path: { type: 'Exact', value: '/' } }], backendRefs: [{ name: 'own', port: 8080 }] }] })],
    rejected: [routePath('take'), { Accepted: 'False NotAllowedByListeners' }],
  },
  'a policy on a Gateway by its name': {
    objects: [policyOf('wide', { targetRefs: [{ group: GROUP, kind: 'Gateway', name: 'shared' }], traffic: { authorization: allowAll } })],
    rejected: [policyPath('wide'), { Accepted: 'False TargetNotFound', Attached: 'False TargetNotFound' }],
  },
  'a policy on a Service of the same name': {
    objects: [
      ...['secret'].map((name) => ({ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'shop' }, spec: { ports: [{ name: 'web', port: 8080 }] } })),
      policyOf('service', { targetRefs: [{ group: '', kind: 'Service', name: 'secret' }], backend: { authorization: { action: 'Deny', policy: { matchExpressions: ['true'] } } } }),
    ],
    rejected: [policyPath('service'), { Attached: 'False Pending' }],
  },
  'a policy on its own route that allows everybody': {
    objects: [policyOf('own', { targetRefs: [{ group: GROUP, kind: 'HTTPRoute', name: 'shop' }], traffic: { authorization: allowAll } })],
  },
  'a policy on its own route that verifies tokens by keys of its own': {
    objects: [policyOf('own-keys', { targetRefs: [{ group: GROUP, kind: 'HTTPRoute', name: 'shop' }], traffic: { jwtAuthentication: { mode: 'Permissive', providers: [forgedProvider] }, authorization: allowAll } })],
  },
  'a policy by labels of a Gateway of apps': {
    objects: [policyOf('labels', { targetSelectors: [{ group: GROUP, kind: 'Gateway', matchLabels: { team: 'apps' } }], traffic: { authorization: allowAll } })],
  },
  'a ListenerSet for a Gateway that takes none': {
    objects: [gatewayApi('ListenerSet', 'more', { parentRef: { ...PRIVATE, kind: 'Gateway', group: GROUP }, listeners: [{ name: 'more', protocol: 'HTTP', port: 8081 }] })],
    rejected: [`${GATEWAY_API}/namespaces/shop/listenersets/more`, { Accepted: 'False NotAllowed' }],
  },
  'endpoints for a Service of apps': {
    objects: [{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', metadata: { name: 'steal', namespace: 'shop', labels: { 'kubernetes.io/service-name': 'secret' } }, addressType: 'IPv4', ports: [{ name: 'web', port: 9 }], endpoints: [{ addresses: ['192.0.2.9'] }] }],
  },
  'TLS for a Service of apps': {
    objects: [gatewayApi('BackendTLSPolicy', 'tls', { targetRefs: [{ group: '', kind: 'Service', name: 'secret' }], validation: { wellKnownCACertificates: 'System', hostname: 'evil.example.com' } })],
  },
  'a Gateway of the same name': {
    objects: [gatewayApi('Gateway', 'shared', { gatewayClassName: 'portcullis', listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }] })],
  },
  'a Gateway with a certificate of apps': {
    objects: [
      ...grant('shop', 'Gateway'),
      gatewayApi('Gateway', 'thief', { gatewayClassName: 'portcullis', listeners: [{ name: 'https', protocol: 'HTTPS', port: 443, tls: { certificateRefs: [{ name: 'theirs', namespace: 'apps' }] } }] }),
    ],
  },
}
