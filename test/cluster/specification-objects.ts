// The objects of the specification's scenarios: Gateways, routes and backends.

import { makeAuthority, makeServingCertificate } from '../../src/xds/certificate.ts'
import { ownAddress } from './plane.ts'
import { block } from './specification-rows.ts'

export function certificate(): object {
  const validity = { from: Date.now() - 60_000, to: Date.now() + 3_600_000 }
  const { cert, key } = makeServingCertificate(
    makeAuthority('test', validity),
    ['*.example.com'],
    validity,
  )
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name: 'cert', namespace: 'apps' },
    stringData: { 'tls.crt': cert, 'tls.key': key },
  }
}

export function gateways([http, https, tls]: readonly [number, number, number]): readonly object[] {
  const terminate = { mode: 'Terminate', certificateRefs: [{ name: 'cert', kind: 'Secret' }] }
  const gateway = (name: string, listeners: readonly object[]) => ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name, namespace: 'apps' },
    spec: { gatewayClassName: 'portcullis', listeners },
  })
  return [
    gateway('web', [
      { name: 'http', protocol: 'HTTP', port: http },
      { name: 'https', protocol: 'HTTPS', port: https, tls: terminate },
    ]),
    gateway('sni', [{ name: 'tls', protocol: 'TLS', port: tls, tls: terminate }]),
  ]
}

export function backends(behind: number): readonly object[] {
  const authorization = block('Require', "request.headers['x-internal'] == 'true'")
  const where = { host: ownAddress, port: behind }
  const specs: Readonly<Record<string, object>> = {
    inline: { static: where, policies: { authorization } },
    model: {
      ai: {
        groups: [
          {
            providers: [
              {
                name: 'own',
                provider: { custom: { formats: [{ type: 'completions' }] } },
                hostOverride: `${ownAddress}:${behind}`,
                policies: { authorization },
              },
            ],
          },
        ],
      },
    },
    tools: { mcp: { targets: [{ name: 'notes', static: { ...where, path: '/mcp' } }] } },
  }
  return Object.entries(specs).map(([name, spec]) => ({
    apiVersion: 'portcullis.dev/v1alpha1',
    kind: 'ProxyBackend',
    metadata: { name, namespace: 'apps' },
    spec,
  }))
}

export function routes(): readonly object[] {
  const group = 'portcullis.dev'
  const backend = (name: string) => ({ group, kind: 'ProxyBackend', name })
  const service = (name: string) => ({ name, port: 8080 })
  const rule = (value: string, to: object) => ({
    matches: [{ path: { type: 'PathPrefix', value } }],
    backendRefs: [to],
  })
  const apiVersion = 'gateway.networking.k8s.io/v1'
  return [
    {
      apiVersion,
      kind: 'HTTPRoute',
      metadata: { name: 'web', namespace: 'apps' },
      spec: {
        parentRefs: [{ name: 'web' }],
        rules: [
          rule('/', service('orders')),
          rule('/restricted', service('restricted')),
          rule('/inline', backend('inline')),
          rule('/v1', backend('model')),
          rule('/mcp', backend('tools')),
        ],
      },
    },
    {
      apiVersion,
      kind: 'TLSRoute',
      metadata: { name: 'sni', namespace: 'apps' },
      spec: {
        parentRefs: [{ name: 'sni', namespace: 'apps' }],
        hostnames: ['*.example.com'],
        rules: [{ backendRefs: [service('streams')] }],
      },
    },
  ]
}
