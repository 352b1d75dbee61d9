import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import { type File, host, type ProtocolAttack, type SentRequest } from './protocol-attacks.ts'

/* The same for connections whose bytes are forwarded unchanged. */

export interface InvariantAttack {
  readonly name: string
  readonly file: File
  readonly on: Tree
  readonly admitted: string
  /** An admitted request. */
  readonly request?: SentRequest
  readonly verdict: 'proven' | 'refuted' | 'not known'
}

export const PASSED: Tree = { protocol: 'TLS', tls: { mode: 'Passthrough' } }
export const streaming = (
  { port }: Addresses,
  routes: readonly Tree[],
  more: Tree = PASSED,
): Tree => ({
  gateways: { default: { port, ...more } },
  tcpRoutes: routes,
})
export const leading = (
  place: Addresses,
  name: string,
  hostname: string | undefined,
  weight: number,
): Tree => ({
  name,
  ...(hostname === undefined ? {} : { hostnames: [hostname] }),
  backends: [{ host: host(place), weight }],
})
const connections = (...own: readonly Tree[]): Tree => ({
  ...PASSED,
  frontendPolicies: { networkAuthorization: { rules: own } },
})
const NEAR = "cidr('10.0.0.0/8').containsIP(source.address)"
const ONLY_NEAR = { deny: `destination.hostname == 'a.example.com' && !${NEAR}` }
const twoNames: File = (place) =>
  streaming(
    place,
    [leading(place, 'first', 'a.example.com', 1), leading(place, 'second', 'b.example.com', 1)],
    connections(ONLY_NEAR),
  )

export const STREAM_ATTACKS: readonly ProtocolAttack[] = [
  {
    name: 'a route for a name leads nowhere, and another name is next',
    old: (place) =>
      streaming(place, [
        leading(place, 'all', '*.example.com', 1),
        leading(place, 'none', 'a.example.com', 0),
      ]),
    now: (place) =>
      streaming(place, [
        leading(place, 'all', '*.example.com', 1),
        leading(place, 'none', 'b.example.com', 0),
      ]),
    requests: ['a', 'b', 'c'].map((name) => ({ sni: `${name}.example.com` })),
  },
  {
    name: 'the first of two routes for a name leads nowhere',
    old: (place) =>
      streaming(place, [
        leading(place, 'first', 'a.example.com', 1),
        leading(place, 'second', 'a.example.com', 0),
      ]),
    now: (place) =>
      streaming(place, [
        leading(place, 'first', 'a.example.com', 0),
        leading(place, 'second', 'a.example.com', 1),
      ]),
    requests: [{ sni: 'a.example.com' }],
  },
  {
    name: 'the first of two routes for all connections leads nowhere',
    old: (place) =>
      streaming(
        place,
        [leading(place, 'first', undefined, 1), leading(place, 'second', undefined, 1)],
        { protocol: 'TCP' },
      ),
    now: (place) =>
      streaming(
        place,
        [leading(place, 'first', undefined, 0), leading(place, 'second', undefined, 1)],
        { protocol: 'TCP' },
      ),
    requests: [{}],
  },
  {
    name: 'a rule about a name goes',
    old: twoNames,
    now: (place) => ({
      ...twoNames(place),
      gateways: { default: { port: place.port, ...PASSED } },
    }),
    requests: [{ sni: 'a.example.com' }, { sni: 'b.example.com' }],
  },
  {
    name: 'a listener is for another name, and its route for all',
    old: (place) =>
      streaming(place, [leading(place, 'all', undefined, 1)], {
        ...PASSED,
        hostname: 'a.example.com',
      }),
    now: (place) =>
      streaming(place, [leading(place, 'all', undefined, 1)], {
        ...PASSED,
        hostname: 'b.example.com',
      }),
    requests: [{ sni: 'a.example.com' }, { sni: 'b.example.com' }],
  },
]

const toDatabase: File = (place) => ({
  ...streaming(place, [{ name: 'db', backends: [{ backend: 'db' }] }], { protocol: 'TCP' }),
  backends: [{ name: 'db', host: host(place) }],
})

export const INVARIANT_ATTACKS: readonly InvariantAttack[] = [
  {
    name: 'a backend that connections lead to is meant, and nothing guards it',
    file: toDatabase,
    on: { backend: 'db' },
    admitted: NEAR,
    request: {},
    verdict: 'refuted',
  },
  {
    name: 'of two routes for connections the one is meant alone',
    file: twoNames,
    on: { route: 'first' },
    admitted: NEAR,
    verdict: 'proven',
  },
  {
    name: 'of two routes for connections the other is meant alone',
    file: twoNames,
    on: { route: 'second' },
    admitted: NEAR,
    request: { sni: 'b.example.com' },
    verdict: 'refuted',
  },
  {
    name: 'which models there are is said by the gateway, whatever provider they have',
    file: (place) => ({
      llm: {
        gateways: 'default',
        models: [{ name: 'm', provider: 'openAI', params: { hostOverride: host(place) } }],
      },
    }),
    on: {},
    admitted: "backend.provider == 'm'",
    request: { target: '/v1/models' },
    verdict: 'not known',
  },
]
