import { stringify } from 'yaml'

/** The same work for each: an RS256 token and `rules` rules, the last of which admits it. */
export interface Governance {
  readonly name: string
  readonly port: number
  /** Undefined means neither a token nor rules. */
  readonly rules: number | undefined
  /** Whether Envoy's own token cache is on. */
  readonly remembers?: boolean
}

export const ISSUER = 'https://issuer.example'

const subjectOf = (rules: number) => `user-${rules}`

export function ownConfiguration(
  backend: number,
  jwks: string,
  all: readonly Governance[],
  leeway: number,
): string {
  const gateways = Object.fromEntries(all.map(({ name, port }) => [name, { port }]))
  const routes = all.map(({ name, rules }) => ({
    name,
    gateways: [name],
    ...(rules === undefined ? {} : { policies: governed(jwks, rules, leeway) }),
    backends: [{ backend: 'backend' }],
  }))
  const file = {
    config: {
      workers: 1,
      adminAddr: 'off',
      statsAddr: 'off',
      readinessAddr: 'off',
      logging: { level: 'warn' },
    },
    gateways,
    frontendPolicies: { accessLog: { enabled: false } },
    routes,
    backends: [{ name: 'backend', host: `127.0.0.1:${backend}` }],
  }
  return stringify(file, { aliasDuplicateObjects: false })
}

function governed(jwks: string, rules: number, leeway: number) {
  const jwtAuthentication = { issuer: ISSUER, jwks: { inline: jwks }, leeway: `${leeway}ms` }
  if (rules === 0) return { jwtAuthentication }
  const list = numbers(rules).map((n) => `jwt.sub == '${who(n, rules)}' && request.method == 'GET'`)
  return { jwtAuthentication, authorization: { rules: list } }
}

/** The last rule of every list matches the token's subject. */
const who = (n: number, rules: number) => (n === rules ? HOLDER : subjectOf(n))

export const HOLDER = 'alice'

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1)

const type = (name: string) => ({ '@type': `type.googleapis.com/envoy.${name}` })

/** JSON, which Envoy accepts in place of YAML. */
export function envoyConfiguration(
  backend: number,
  jwks: string,
  all: readonly Governance[],
): string {
  const address = (port_value: number) => ({ socket_address: { address: '127.0.0.1', port_value } })
  const listeners = all.map((own) => ({
    name: own.name,
    address: address(own.port),
    filter_chains: [{ filters: [manager(own, jwks)] }],
  }))
  const endpoint = { endpoint: { address: address(backend) } }
  const cluster = {
    name: 'backend',
    type: 'STATIC',
    circuit_breakers: { thresholds: [{ max_connections: 8192, max_requests: 8192 }] },
    load_assignment: { cluster_name: 'backend', endpoints: [{ lb_endpoints: [endpoint] }] },
  }
  return JSON.stringify({ static_resources: { listeners, clusters: [cluster] } })
}

function manager(own: Governance, jwks: string) {
  return {
    name: 'envoy.filters.network.http_connection_manager',
    typed_config: {
      ...type('extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'),
      stat_prefix: own.name,
      route_config: {
        virtual_hosts: [
          {
            name: 'all',
            domains: ['*'],
            routes: [{ match: { prefix: '/' }, route: { cluster: 'backend' } }],
          },
        ],
      },
      http_filters: [
        ...filters(own, jwks),
        {
          name: 'envoy.filters.http.router',
          typed_config: type('extensions.filters.http.router.v3.Router'),
        },
      ],
    },
  }
}

const JWT_FILTER = 'envoy.filters.http.jwt_authn'

function filters({ rules, remembers }: Governance, jwks: string): readonly object[] {
  if (rules === undefined) return []
  const provider = {
    issuer: ISSUER,
    local_jwks: { inline_string: jwks },
    payload_in_metadata: 'payload',
    ...(remembers ? { jwt_cache_config: { jwt_cache_size: 1000 } } : {}),
  }
  const authentication = {
    name: JWT_FILTER,
    typed_config: {
      ...type('extensions.filters.http.jwt_authn.v3.JwtAuthentication'),
      providers: { issuer: provider },
      rules: [{ match: { prefix: '/' }, requires: { provider_name: 'issuer' } }],
    },
  }
  if (rules === 0) return [authentication]
  const policies = Object.fromEntries(
    numbers(rules).map((n) => [
      `rule-${String(n).padStart(6, '0')}`,
      {
        permissions: [{ header: { name: ':method', string_match: { exact: 'GET' } } }],
        principals: [
          {
            metadata: {
              filter: JWT_FILTER,
              path: [{ key: 'payload' }, { key: 'sub' }],
              value: { string_match: { exact: who(n, rules) } },
            },
          },
        ],
      },
    ]),
  )
  const access = {
    name: 'envoy.filters.http.rbac',
    typed_config: {
      ...type('extensions.filters.http.rbac.v3.RBAC'),
      rules: { action: 'ALLOW', policies },
    },
  }
  return [authentication, access]
}
