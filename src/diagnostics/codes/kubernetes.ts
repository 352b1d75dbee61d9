import { defineCodes } from './define.ts'

export const KUBERNETES_CODES = defineCodes('PC07', 'Kubernetes objects', [
  {
    code: 'PC0701',
    severity: 'error',
    title: 'invalid field of an object',
    explanation:
      'A field of a Kubernetes object is unknown, missing or of the wrong type. An API server ' +
      'with the CRDs of this version rejects such an object; here, manifests are checked before ' +
      'they are applied. A policy with such a field denies what it guards.',
    example: {
      language: 'text',
      wrong: 'traffic: { authorisation: { action: Allow } }',
      right:
        "traffic: { authorization: { action: Allow, policy: { matchExpressions: ['true'] } } }",
    },
  },
  {
    code: 'PC0702',
    severity: 'error',
    title: 'reference to a missing object',
    explanation:
      'A route, Gateway or policy refers to a Service, Secret, ConfigMap or other object that ' +
      'does not exist, to a port that it does not have, or to a kind that is not supported ' +
      'there. Until this is fixed, the share of requests for such a backend gets 500, and a ' +
      'policy with such a reference denies what it guards.',
    example: {
      language: 'text',
      wrong: 'backendRefs: [{ name: order, port: 80 }]     # the Service is named orders',
      right: 'backendRefs: [{ name: orders, port: 80 }]',
    },
  },
  {
    code: 'PC0703',
    severity: 'error',
    title: 'reference into another namespace is not permitted',
    explanation:
      'A reference crosses into another namespace, and no ReferenceGrant in that namespace ' +
      'permits it. Only the owners of the referenced object can permit its use. Deleting the ' +
      'ReferenceGrant revokes access.',
    example: {
      language: 'text',
      wrong:
        'backendRefs: [{ name: orders, namespace: shop, port: 80 }]   # from the namespace apps',
      right:
        'kind: ReferenceGrant\nmetadata: { name: apps, namespace: shop }\nspec:\n  from: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: apps }]\n  to: [{ group: "", kind: Service }]',
    },
  },
  {
    code: 'PC0704',
    severity: 'error',
    title: 'not supported',
    explanation:
      'The object uses a feature that this version does not support, or a combination that is ' +
      'not possible: a protocol, a type of match or filter, or a kind of route on a listener. ' +
      'It is rejected rather than ignored: a rule of a route responds with 500, and a listener ' +
      'is not opened.',
    example: {
      language: 'text',
      wrong: 'filters: [{ type: ExtensionRef, extensionRef: { group: x, kind: Y, name: z } }]',
      right:
        'filters: [{ type: RequestHeaderModifier, requestHeaderModifier: { remove: [x-debug] } }]',
    },
  },
  {
    code: 'PC0705',
    severity: 'error',
    title: 'conflicting listeners',
    explanation:
      'Two listeners on the same port have different protocols or the same hostname, or the ' +
      'port is used by the proxy itself. If two listeners of the same Gateway conflict, neither ' +
      'is opened; listeners of a ListenerSet yield to those of the Gateway and of older ' +
      'ListenerSets.',
    example: {
      language: 'text',
      wrong:
        'listeners:\n- { name: a, port: 80, protocol: HTTP }\n- { name: b, port: 80, protocol: HTTP }',
      right:
        'listeners:\n- { name: a, port: 80, protocol: HTTP, hostname: a.example.com }\n- { name: b, port: 80, protocol: HTTP, hostname: b.example.com }',
    },
  },
  {
    code: 'PC0706',
    severity: 'error',
    title: 'unusable certificates',
    explanation:
      'A Secret or ConfigMap that a listener, Gateway or BackendTLSPolicy refers to is missing, ' +
      'is in another namespace without a ReferenceGrant, or does not contain PEM certificates: ' +
      '`tls.crt` and `tls.key` that belong together, or `ca.crt`. Until this is fixed, the ' +
      'listener closes its connections, and a backend gets no requests.',
    example: {
      language: 'text',
      wrong: 'tls: { certificateRefs: [{ kind: ConfigMap, name: edge-cert }] }',
      right: 'tls: { certificateRefs: [{ kind: Secret, name: edge-cert }] }',
    },
  },
  {
    code: 'PC0707',
    severity: 'error',
    title: 'a policy cannot apply to its target',
    explanation:
      'The target of a ProxyPolicy does not exist in the namespace of the policy, it has no ' +
      'listener, rule, port, provider or server with this `sectionName` or `port`, or a section ' +
      'of the policy does not support targets of that kind: `frontend` supports only Gateways, ' +
      '`traffic` supports Gateways, ListenerSets, HTTPRoutes and GRPCRoutes. If the target ' +
      'exists, all requests to it are denied, because what the policy should guard must not be ' +
      'open. If a target exists and no Gateway serves it, the policy guards nothing: this is a ' +
      'warning, because a route to it may come later.',
    example: {
      language: 'text',
      wrong:
        'targetRefs: [{ group: "", kind: Service, name: orders }]\ntraffic: { authorization: … }',
      right:
        'targetRefs: [{ group: "", kind: Service, name: orders }]\nbackend: { authorization: … }',
    },
  },
  {
    code: 'PC0708',
    severity: 'warning',
    title: 'a policy is overridden by an older one',
    explanation:
      'Two policies with the same target set the same field. Authorization and authentication ' +
      'of all policies apply together; for other fields, the older policy wins, and at equal ' +
      'age the one whose namespace and name come first.',
    example: {
      language: 'text',
      wrong: 'two ProxyPolicies for one HTTPRoute, both with traffic.timeouts',
      right: 'one of them with traffic.timeouts',
    },
  },
  {
    code: 'PC0709',
    severity: 'error',
    title: 'an object is not accepted by its parent',
    explanation:
      'A route refers to a listener, section or port that its parent does not have, the parent ' +
      'does not allow routes of that kind or namespace, or their hostnames do not intersect; or ' +
      'a Gateway or ListenerSet is not valid. The route gets no requests there.',
    example: {
      language: 'text',
      wrong: 'parentRefs: [{ name: edge, sectionName: htttp }]',
      right: 'parentRefs: [{ name: edge, sectionName: http }]',
    },
  },
  {
    code: 'PC0710',
    severity: 'error',
    title: 'a manifest cannot be read',
    explanation:
      'A manifest file is not valid YAML, or a document in it is not a Kubernetes object, which ' +
      'requires `apiVersion`, `kind` and `metadata.name`.',
    example: {
      language: 'text',
      wrong: 'kind: ProxyPolicy\nspec: {}',
      right:
        'apiVersion: portcullis.dev/v1alpha1\nkind: ProxyPolicy\nmetadata: { name: a }\nspec: …',
    },
  },
  {
    code: 'PC0711',
    severity: 'info',
    title: 'an object is assumed to exist',
    explanation:
      'The manifests refer to a Service or a TLS Secret that they do not contain. It is assumed ' +
      'to exist in the cluster, so that policies can be checked without it. Whether it exists ' +
      'is checked when the manifests are applied. A route or ProxyModel whose Gateway or ' +
      'ListenerSet is not among the manifests is not checked; this is a warning if they contain ' +
      'another one, since the name is then probably wrong.',
    example: {
      language: 'text',
      wrong: 'backendRefs: [{ name: orders, port: 80 }]     # no manifest of the Service orders',
      right: 'backendRefs: [{ name: orders, port: 80 }]     # and a manifest of the Service orders',
    },
  },
])
