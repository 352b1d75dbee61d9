import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { parse } from 'yaml'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'convert-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** Converts a file and validates the result. */
async function converted(name: string, text: string, ...options: readonly string[]) {
  const [file, output] = [join(folder, name), join(folder, 'converted.yaml')]
  writeFileSync(file, text)
  const { code, err } = await runWith(['convert', file, '-o', output, ...options])
  const checked = await runWith(['validate', output])
  assert.equal(checked.code, 0, `${checked.out}${checked.err}\n${readFileSync(output, 'utf8')}`)
  return {
    code,
    err: err.replaceAll(`${folder}/`, ''),
    document: parse(readFileSync(output, 'utf8')),
  }
}

const DENIED = { rules: [{ deny: 'true' }] }

describe('convert from nginx', () => {
  const server = (inside: string) => `server {\n listen 8080;\n${inside}\n}\n`
  const route = async (inside: string) => {
    const { document, ...rest } = await converted('a.conf', server(inside))
    return { ...rest, routes: document.routes, first: document.routes[0] }
  }

  it('converts a location and its backend, with the Host that nginx sends', async () => {
    const { code, err, first } = await route('location / { proxy_pass http://127.0.0.1:9000; }')
    assert.deepEqual([code, err], [0, ''])
    assert.deepEqual(first.backends, [{ host: '127.0.0.1:9000' }])
    assert.deepEqual(first.policies.urlRewrite, { authority: { full: '127.0.0.1:9000' } })
  })

  for (const [directives, rule] of [
    ['allow 10.0.0.0/8; deny all;', "cidr('10.0.0.0/8').containsIP(source.address)"],
    ['deny 10.0.0.1;', "!cidr('10.0.0.1/32').containsIP(source.address)"],
    ['deny all;', 'false'],
    [
      'deny 10.0.0.1; allow 10.0.0.0/8; deny all;',
      "!cidr('10.0.0.1/32').containsIP(source.address) && (cidr('10.0.0.0/8').containsIP(source.address))",
    ],
  ] as const) {
    it(`${directives} is a rule`, async () => {
      const { first } = await route(
        `location / { ${directives} proxy_pass http://127.0.0.1:9000; }`,
      )
      assert.deepEqual(first.policies.authorization, { rules: [{ require: rule }] })
    })
  }

  for (const directive of [
    'auth_request /auth;',
    'satisfy any;',
    'if ($http_x = 1) { return 403; }',
    'something_new on;',
    'allow unix:;',
    'limit_except GET { deny all; }',
  ]) {
    it(`${directive} is not understood, so the location denies`, async () => {
      const { code, err, first } = await route(
        `location / { ${directive} proxy_pass http://127.0.0.1:9000; }`,
      )
      assert.equal(code, 1)
      assert.match(err, /a\.conf:3: .*deny all requests until/)
      const { rules } = first.policies.authorization
      assert.ok(['true', 'false'].includes(rules[0].deny ?? rules[0].require))
    })
  }

  it('unsupported directives outside locations deny in each location', async () => {
    const { routes } = await route(
      'ssl_verify_client on; location / { proxy_pass http://127.0.0.1:9000; }',
    )
    for (const { policies } of routes) assert.deepEqual(policies.authorization, DENIED)
  })

  it('lists directives without an equivalent, and denies nothing for them', async () => {
    const { code, err, first } = await route(
      'location / { proxy_read_timeout 5s; proxy_pass http://127.0.0.1:9000; }',
    )
    assert.equal(code, 1)
    assert.match(err, /proxy_read_timeout 5s/)
    assert.equal(first.policies.authorization, undefined)
  })

  it('reports line and reason of invalid configuration', async () => {
    const file = join(folder, 'bad.conf')
    writeFileSync(file, 'server {\n listen 80\n}\n')
    const { code, err } = await runWith(['convert', file])
    assert.equal(code, 1)
    assert.match(err, /bad\.conf:2: `listen` does not end with `;`/)
  })
})

describe('convert from Caddy', () => {
  it('converts proxies, responses, redirects, headers and passwords', async () => {
    const { code, err, document } = await converted(
      'Caddyfile',
      `:8080 {
  reverse_proxy /api/* 127.0.0.1:9000 127.0.0.1:9001
  handle_path /x/* {
    reverse_proxy :9001
  }
  respond /hello "hi there" 201
  redir /old https://example.com{uri} permanent
  header x-a b
}
`,
    )
    // A prefix matches one more path than `/api/*`.
    assert.equal(code, 1)
    assert.equal(err.match(/also matches/g)?.length, 2)
    const by = new Map(document.routes.map((one: { name: string }) => [one.name, one]))
    const policies = (name: string) =>
      (by.get(name) as { policies: Record<string, unknown> }).policies
    assert.deepEqual((by.get('api') as { backends: unknown }).backends, [
      { hosts: ['127.0.0.1:9000', '127.0.0.1:9001'] },
    ])
    assert.deepEqual(policies('x')['urlRewrite'], { path: { prefix: '/' } })
    assert.deepEqual(policies('hello')['directResponse'], { status: 201, body: 'hi there' })
    assert.deepEqual(policies('old')['requestRedirect'], {
      scheme: 'https',
      authority: { full: 'example.com' },
      status: 301,
    })
    for (const name of by.keys()) {
      assert.deepEqual(policies(name as string)['responseHeaders'], { set: { 'x-a': 'b' } })
    }
  })

  it('an error for matched addresses is a Deny rule', async () => {
    const { document } = await converted(
      'Caddyfile',
      ':8080 {\n @out not remote_ip 10.0.0.0/8\n respond @out 403\n reverse_proxy 127.0.0.1:9000\n}\n',
    )
    assert.deepEqual(document.routes[0].policies.authorization, {
      rules: [{ deny: "!(cidr('10.0.0.0/8').containsIP(source.address))" }],
    })
  })

  for (const directive of [
    'forward_auth a:1 {\n uri /x\n }',
    'import auth',
    'abort @unknown',
    'something new',
  ]) {
    it(`${directive.split('\n')[0]} is not understood, so the site denies`, async () => {
      const { code, document } = await converted(
        'Caddyfile',
        `:8080 {\n ${directive}\n reverse_proxy 127.0.0.1:9000\n}\n`,
      )
      assert.equal(code, 1)
      for (const { policies } of document.routes) assert.deepEqual(policies.authorization, DENIED)
    })
  }
})

const ROUTE = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: { name: eg }
spec: { controllerName: gateway.envoyproxy.io/gatewayclass-controller }
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: { name: edge, namespace: shop }
spec:
  gatewayClassName: eg
  listeners: [{ name: http, port: 80, protocol: HTTP }]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: { name: orders, namespace: shop }
spec:
  parentRefs: [{ name: edge }]
  hostnames: [api.example.com]
  rules:
  - matches: [{ path: { type: PathPrefix, value: /orders }, method: GET }]
    filters:
    - { type: RequestHeaderModifier, requestHeaderModifier: { set: [{ name: x-b, value: c }] } }
    backendRefs: [{ name: orders, port: 8080 }]
    timeouts: { request: 10s }
`

describe('convert from Kubernetes and Envoy Gateway', () => {
  const security = (spec: string) => `${ROUTE}---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: SecurityPolicy
metadata: { name: guard, namespace: shop }
spec:
  targetRefs: [{ group: gateway.networking.k8s.io, kind: HTTPRoute, name: orders }]
${spec}`

  it('converts routes as the controller would deliver them', async () => {
    const { code, document } = await converted('all.yaml', ROUTE)
    assert.equal(code, 0)
    assert.deepEqual(document.gateways, {
      'shop-edge-80': { port: 80, listeners: [{ name: 'http' }] },
    })
    assert.deepEqual(document.routes, [
      {
        name: 'shop-orders',
        gateways: ['shop-edge-80/http'],
        hostnames: ['api.example.com'],
        matches: [{ path: { pathPrefix: '/orders' }, method: 'GET' }],
        policies: { requestHeaders: { set: { 'x-b': 'c' } }, timeout: { request: '10000ms' } },
        backends: [{ host: 'orders.shop.svc.cluster.local:8080', weight: 1 }],
      },
    ])
  })

  it('keeps the order of the rules of a SecurityPolicy', async () => {
    const { code, document } = await converted(
      'all.yaml',
      security(`  authorization:
    defaultAction: Deny
    rules:
    - { action: Deny, principal: { clientCIDRs: [10.0.0.1/32] } }
    - { action: Allow, principal: { clientCIDRs: [10.0.0.0/8] } }
`),
    )
    assert.equal(code, 0)
    assert.deepEqual(document.routes[0].policies.authorization.rules, [
      {
        require:
          "!(cidr('10.0.0.1/32').containsIP(source.address)) && ((cidr('10.0.0.0/8').containsIP(source.address)))",
      },
    ])
  })

  for (const spec of [
    '  extAuth: { grpc: { backendRefs: [{ name: a, port: 1 }] } }\n',
    '  oidc: { provider: { issuer: https://a.example } }\n',
    '  authorization: { rules: [{ action: Allow, principal: { jwt: { provider: a } } }] }\n',
    '  somethingNew: {}\n',
  ]) {
    it(`${spec.trim()} is not understood, so the route denies`, async () => {
      const { code, document } = await converted('all.yaml', security(spec))
      assert.equal(code, 1)
      assert.deepEqual(document.routes[0].policies.authorization, DENIED)
    })
  }
})

describe('convert from agentgateway', () => {
  it('writes out defaults that differ, and migrates older spellings', async () => {
    const { code, document } = await converted(
      'config.yaml',
      `binds:
- port: 3000
  listeners:
  - routes:
    - policies:
        jwtAuth: { issuer: https://a.example, audiences: [a], jwks: { url: https://a.example/keys } }
      backends: [{ host: localhost:8080 }]
config:
  logging: { filter: response.code == 500 }
`,
    )
    assert.equal(code, 0)
    assert.equal(document.binds[0].listeners[0].routes[0].policies.jwtAuth.mode, 'Optional')
    assert.equal(document.frontendPolicies.accessLog.filter, 'response.code == 500')
  })

  it('removes unsupported settings; a route that loses a policy denies', async () => {
    const { code, err, document } = await converted(
      'config.yaml',
      `binds:
- port: 3000
  listeners:
  - routes:
    - policies:
        somethingNew: { a: 1 }
      backends: [{ host: localhost:8080 }]
    - matches: [{ path: { pathPrefix: /open } }]
      backends: [{ host: localhost:8081 }]
`,
    )
    assert.equal(code, 1)
    assert.match(err, /somethingNew/)
    const [first, second] = document.binds[0].listeners[0].routes
    assert.deepEqual(first.policies.authorization, DENIED)
    assert.deepEqual(second.policies, { urlRewrite: { authority: 'auto' } })
  })
})

describe('convert', () => {
  it('prints the configuration and the list as JSON', async () => {
    const file = join(folder, 'b.conf')
    writeFileSync(file, 'user a;\nserver { listen 80; return 404; }\n')
    const { code, out } = await runWith(['convert', file, '--json'])
    assert.equal(code, 1)
    const { configuration, notCarriedOver } = JSON.parse(out)
    assert.equal(configuration.routes.length, 1)
    assert.deepEqual(notCarriedOver[0].line, 1)
  })

  it('requires the kind if the file name does not determine it', async () => {
    const { code, err } = await runWith(['convert', 'x.txt'], {})
    assert.equal(code, 1)
    assert.match(err, /cannot read x\.txt/)
    const unknown = await runWith(['convert', 'a', '--from', 'haproxy'])
    assert.equal(unknown.code, 2)
    assert.match(unknown.err, /unknown kind `haproxy`; available: agentgateway/)
  })
})
