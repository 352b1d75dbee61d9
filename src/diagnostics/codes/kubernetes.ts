import { defineCodes } from './define.ts'

export const KUBERNETES_CODES = defineCodes('PC07', 'Kubernetes objects', [
  {
    code: 'PC0701',
    severity: 'error',
    title: 'an object with a field that is not valid',
    explanation:
      'A field of a Kubernetes object is unknown, missing or of the wrong type. An API server with ' +
      'the definitions of this version rejects such an object; manifests that were not applied yet ' +
      'are checked here. A policy with such a field denies what it guards.',
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
    title: 'a reference to an object that does not exist',
    explanation:
      'A route, Gateway or policy refers to a Service, Secret, ConfigMap or other object that does ' +
      'not exist, to a port that it does not have, or to a kind that cannot be used there. The ' +
      'share of requests that would go to such a backend gets 500, and a policy with such a ' +
      'reference denies what it guards, until the object exists.',
    example: {
      language: 'text',
      wrong: 'backendRefs: [{ name: order, port: 80 }]     # the Service is called orders',
      right: 'backendRefs: [{ name: orders, port: 80 }]',
    },
  },
  {
    code: 'PC0703',
    severity: 'error',
    title: 'a reference into another namespace that is not permitted',
    explanation:
      'A reference crosses into another namespace, and no ReferenceGrant in that namespace allows ' +
      'it. Only those who own the referenced object can permit its use. When a ReferenceGrant is ' +
      'deleted, access ends.',
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
    title: 'something that is not supported here',
    explanation:
      'The object requests something that this version does not do, or that cannot be combined: a ' +
      'protocol, a type of match or filter, a kind of route on a listener. It is rejected rather than ignored: a rule of a route responds with 500, a listener is not opened.',
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
    title: 'listeners that conflict',
    explanation:
      'Two listeners on one port have different protocols, or the same hostname, or the port is ' +
      'one that the proxy uses itself. Of two listeners of one Gateway neither is opened; a ' +
      'listener of a ListenerSet gives way to those of the Gateway and of older ListenerSets.',
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
    title: 'certificates that cannot be used',
    explanation:
      'A Secret or ConfigMap that a listener, Gateway or BackendTLSPolicy refers to is missing, is ' +
      'in another namespace without a ReferenceGrant, or does not hold certificates in PEM form: ' +
      '`tls.crt` and `tls.key` that belong together, or `ca.crt`. The listener closes its ' +
      'connections, and a backend gets no requests, until it does.',
    example: {
      language: 'text',
      wrong: 'tls: { certificateRefs: [{ kind: ConfigMap, name: edge-cert }] }',
      right: 'tls: { certificateRefs: [{ kind: Secret, name: edge-cert }] }',
    },
  },
  {
    code: 'PC0707',
    severity: 'error',
    title: 'a policy that cannot be for its target',
    explanation:
      'The target of a ProxyPolicy does not exist in the namespace of the policy, or a section of ' +
      'the policy is not for targets of that kind: `frontend` takes Gateways only, `traffic` ' +
      'takes Gateways, ListenerSets, HTTPRoutes and GRPCRoutes. If the target exists, all requests ' +
      'to it are denied, since what the policy was to guard must not be open.',
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
    title: 'a policy that an older one overrides',
    explanation:
      'Two policies with the same target set the same field. Authorization and authentication of ' +
      'all policies apply together; of other fields the one of the older policy applies, and of ' +
      'two of the same age the one whose namespace and name come first.',
    example: {
      language: 'text',
      wrong: 'two ProxyPolicies for one HTTPRoute, both with traffic.timeouts',
      right: 'one of them with traffic.timeouts',
    },
  },
  {
    code: 'PC0709',
    severity: 'error',
    title: 'an object that its parent does not accept',
    explanation:
      'A route names a listener, section or port that the parent does not have, the parent allows ' +
      'no routes of that kind or namespace, or their hostnames have nothing in common; or a ' +
      'Gateway or ListenerSet cannot be used as it is written. Nothing reaches the route there.',
    example: {
      language: 'text',
      wrong: 'parentRefs: [{ name: edge, sectionName: htttp }]',
      right: 'parentRefs: [{ name: edge, sectionName: http }]',
    },
  },
  {
    code: 'PC0710',
    severity: 'error',
    title: 'a manifest that cannot be read',
    explanation:
      'A file of manifests is not valid YAML, or a document in it is not a Kubernetes object, which ' +
      'needs `apiVersion`, `kind` and `metadata.name`.',
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
    title: 'an object that is assumed to exist',
    explanation:
      'Manifests refer to a Service, or to a Secret with a certificate, that is not among them. It ' +
      'is assumed to exist in the cluster, so that policies can be checked without it. Whether it ' +
      'does is seen when the manifests are applied.',
    example: {
      language: 'text',
      wrong: 'backendRefs: [{ name: orders, port: 80 }]     # no manifest of the Service orders',
      right: 'backendRefs: [{ name: orders, port: 80 }]     # and a manifest of the Service orders',
    },
  },
])
