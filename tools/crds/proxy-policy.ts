import type { Kind } from './definition.ts'
import { BACKEND, FRONTEND, MCP, TRAFFIC } from './policies.ts'
import { targetRefs, targetSelectors } from './references.ts'
import { policyStatus } from './status.ts'
import { atLeastOne, exactlyOne, object, type Validation } from './structural.ts'

const GATEWAY_API = 'gateway.networking.k8s.io'
const ROUTES = ['HTTPRoute', 'GRPCRoute']
const GATEWAYS = ['Gateway', 'ListenerSet']

/** API group → kinds that a policy can target. */
const TARGETS: Readonly<Record<string, readonly string[]>> = {
  '': ['Service'],
  [GATEWAY_API]: [...GATEWAYS, ...ROUTES, 'TLSRoute', 'TCPRoute'],
  'portcullis.dev': ['ProxyBackend'],
  'inference.networking.k8s.io': ['InferencePool'],
}

/** A condition on every target, in `targetRefs` and in `targetSelectors`. */
function everyTarget(condition: (target: string) => string): string {
  const all = ['targetRefs', 'targetSelectors'].map((key) => {
    return `(!has(self.${key}) || self.${key}.all(t, ${condition('t')}))`
  })
  return all.join(' && ')
}

function isOneOf(target: string, group: string, kinds: readonly string[]): string {
  const listed = kinds.map((kind) => `'${kind}'`).join(', ')
  return `${target}.group == '${group}' && ${target}.kind in [${listed}]`
}

const RULES: readonly Validation[] = [
  exactlyOne(['targetRefs', 'targetSelectors']),
  atLeastOne('traffic', 'frontend', 'backend'),
  {
    rule: everyTarget((target) =>
      Object.entries(TARGETS)
        .map(([group, kinds]) => `(${isOneOf(target, group, kinds)})`)
        .join(' || '),
    ),
    message:
      'a policy can target a Service (group "" ), a Gateway, ListenerSet, HTTPRoute, GRPCRoute, ' +
      `TLSRoute or TCPRoute (group ${GATEWAY_API}), a ProxyBackend (group portcullis.dev) or an ` +
      'InferencePool (group inference.networking.k8s.io)',
  },
  {
    rule: `!has(self.frontend) || (${everyTarget((target) => isOneOf(target, GATEWAY_API, ['Gateway']))})`,
    message: 'frontend applies to connections: its target must be a Gateway',
  },
  {
    rule: `!has(self.traffic) || (${everyTarget((target) => isOneOf(target, GATEWAY_API, [...GATEWAYS, ...ROUTES]))})`,
    message:
      'the target of traffic must be a Gateway, ListenerSet, HTTPRoute or GRPCRoute; for a Service ' +
      'or a ProxyBackend, use backend.authorization or target the route',
  },
  {
    rule: `has(self.frontend) || (${everyTarget((target) => `!has(${target}.port)`)})`,
    message: 'port of a target can only be set together with frontend',
  },
]

/** A column for a condition of the first Gateway that the policy applies to. */
function condition(name: string, description: string) {
  const jsonPath = `.status.ancestors[0].conditions[?(@.type=="${name}")].status`
  return { name, jsonPath, description }
}

export const proxyPolicy: Kind = {
  kind: 'ProxyPolicy',
  plural: 'proxypolicies',
  shortName: 'ppol',
  description: 'Rules and settings for gateways, routes and backends.',
  labels: { [`${GATEWAY_API}/policy`]: 'Direct' },
  columns: [
    {
      name: 'Kind',
      jsonPath: '.spec.targetRefs[*].kind',
      description: 'The kind of the first target.',
    },
    {
      name: 'Target',
      jsonPath: '.spec.targetRefs[*].name',
      description: 'The name of the first target.',
    },
    condition('Accepted', 'Whether the policy is valid.'),
    condition('Attached', 'Whether the policy is attached to a gateway.'),
    { ...condition('RulesHealthy', 'Whether every rule can match.'), name: 'Healthy' },
    condition('Programmed', 'Whether the proxies run the policy.'),
  ],
  spec: object(
    'The targets and contents of the policy.',
    {
      targetRefs,
      targetSelectors,
      frontend: object(
        'Policies for connections, before any data is proxied.',
        FRONTEND,
        atLeastOne(...Object.keys(FRONTEND)),
      ),
      traffic: object('Policies for requests.', TRAFFIC, atLeastOne(...Object.keys(TRAFFIC))),
      backend: object(
        'Policies for requests after their backend is chosen.',
        { ...BACKEND, mcp: MCP },
        atLeastOne(...Object.keys(BACKEND), 'mcp'),
      ),
    },
    ...RULES,
  ),
  status: policyStatus,
}
