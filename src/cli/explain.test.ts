import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { DecisionFile } from '../telemetry/decision-file.ts'
import { recordOf } from '../telemetry/fixtures/decision-records.ts'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
const file = join(folder, 'gateway.yaml')
const JWKS = '{"keys":[]}'

before(() => {
  writeFileSync(
    file,
    `gateways:
  default: { port: 8080 }
  edge:
    port: 8443
    protocol: TLS
    tls: { mode: Passthrough }
frontendPolicies:
  networkAuthorization:
    rules: [{ deny: "cidr('10.0.0.0/8').containsIP(source.address)" }]
routes:
- name: orders
  gateways: [default]
  matches: [{ path: { pathPrefix: /orders } }]
  policies:
    jwtAuthentication: { issuer: https://issuer.test, jwks: { inline: '${JWKS}' } }
    authorization:
      rules:
      - deny: request.path.startsWith('/orders/admin')
      - require: jwt.group == 'eng'
      - allow: request.method == 'GET' || request.headers['x-write'] == 'yes'
  backends:
  - host: 127.0.0.1:9001
    policies:
      authorization: { mode: Audit, rules: [{ deny: "backend.type == 'static'" }] }
- name: open
  gateways: [default]
  matches: [{ path: { pathPrefix: /open } }]
  backends: [{ host: '127.0.0.1:9002' }]
- name: half
  gateways: [default]
  matches: [{ path: { pathPrefix: /half } }]
  policies:
    authorization: { rules: [{ deny: request.method == 'DELETE' }] }
  backends: [{ host: '127.0.0.1:9002' }]
- name: lost
  gateways: [default]
  matches: [{ path: { pathPrefix: /lost } }]
  policies:
    directResponse: { conditional: [{ condition: request.method == 'PUT', status: 200 }, { condition: request.method == 'POST', status: 503 }] }
tcpRoutes:
- name: stream
  gateways: [edge]
  backends: [{ host: '127.0.0.1:9003' }]
`,
  )
})
after(() => rmSync(folder, { recursive: true }))

const run = (args: readonly string[], colour = false) => runWith(args, { colour })

const explain = (...args: readonly string[]) => run(['explain', '-f', file, ...args])

describe('portcullis explain', () => {
  const CLAIMS = '{"sub":"alice","group":"eng"}'
  for (const [what, args, code, verdict] of [
    [
      'what is allowed',
      ['-r', 'GET /orders', '--claims', CLAIMS],
      0,
      /traffic {2}allowed \(matched\)/,
    ],
    [
      'a claim that is missing',
      ['-r', 'GET /orders', '--claims', '{"sub":"a"}'],
      1,
      /traffic {2}denied \(unset\)[\s\S]*jwt\.group is missing; present: sub/,
    ],
    [
      'a token that is missing',
      ['-r', 'GET /orders'],
      1,
      /traffic {2}denied \(unset\)[\s\S]*jwt is missing/,
    ],
    [
      'that no rule is asked without one',
      ['-r', 'GET /orders'],
      1,
      /denied \(401: jwtAuthentication requires credentials\); request rules are not evaluated/,
    ],
    [
      'a token of somebody else',
      ['-r', 'GET /orders', '--claims', '{"iss":"https://x","sub":"alice","group":"eng"}'],
      1,
      /denied \(401: tokens from issuer https:\/\/x are not accepted\)[\s\S]*traffic {2}allowed/,
    ],
    [
      'a Deny rule',
      ['-r', 'GET /orders/admin', '--claims', CLAIMS],
      1,
      /✓ route:orders authorization\[0\].*← decides/,
    ],
    ['no Allow rule', ['-r', 'POST /orders', '--claims', CLAIMS], 1, /denied \(no-allow-match\)/],
    [
      'a header',
      ['-r', 'POST /orders', '-H', 'X-Write: yes', '--claims', CLAIMS],
      0,
      /✓ request\.headers\['x-write'\] == 'yes' {2}request\.headers\['x-write'\] = 'yes'/,
    ],
    ['a source', ['-r', '/open', '--source', '10.1.2.3'], 1, /connection {2}denied \(matched\)/],
    [
      'audit mode',
      ['-r', 'GET /orders', '--claims', CLAIMS],
      0,
      /backend orders\/0 {2}allowed, but audit mode would deny it/,
    ],
    ['a route without rules', ['-r', '/open'], 0, /traffic {2}allowed \(no-rules\)\n {2}no rules/],
    [
      'a path that is normalised',
      ['-r', '/orders/x/../admin', '--claims', CLAIMS],
      1,
      /request\.path = '\/orders\/admin'/,
    ],
    ['no route', ['-r', '/nowhere'], 1, /no route matches \(404: no-route\)/],
    ['a request that is none', ['-r', 'GET http://'], 1, /rejected \(400: bad-host\)/],
    ['a method in lower case', ['-r', 'get /open'], 1, /\(400: bad-method\)\n {2}methods are case/],
    ['CONNECT', ['-r', 'CONNECT a.test:443'], 1, /rejected \(405: bad-target\)/],
    ['HTTP/1.0 without a host', ['-r', 'GET /open HTTP/1.0'], 0, /route open/],
    ['HTTP/2', ['-r', 'GET http://a.test/open HTTP/2'], 0, /route open/],
    [
      'blanks around a value in HTTP/1.1',
      ['-r', 'POST /orders', '-H', 'X-Write:  yes ', '--claims', CLAIMS],
      0,
      /request\.headers\['x-write'\] = 'yes'/,
    ],
    [
      'the same in HTTP/2',
      ['-r', 'POST /orders HTTP/2', '-H', 'X-Write:  yes ', '--claims', CLAIMS],
      1,
      /rejected \(400: bad-header-value\)/,
    ],
    [
      'a header of connections in HTTP/2',
      ['-r', 'GET /open HTTP/2', '-H', 'Connection: close'],
      1,
      /rejected \(400: bad-connection\)/,
    ],
    [
      'a connection',
      ['--listener', 'edge/default', '--source', '10.1.2.3', '--sni', 'a.test'],
      1,
      /connection {2}denied/,
    ],
    [
      'a path whose slashes the gateway merges',
      ['-r', 'GET /orders//admin', '--claims', CLAIMS],
      1,
      /traffic {2}denied/,
    ],
    [
      'authentication that comes first',
      ['-r', '/orders'],
      1,
      /jwtAuthentication of route:orders is evaluated first/,
    ],
  ] as const) {
    it(`tells ${what}`, async () => {
      const { code: exitCode, out } = await explain(...args)
      assert.match(out, verdict)
      assert.equal(exitCode, code)
    })
  }

  for (const [what, args, message] of [
    ['a method alone', ['-r', 'FOO'], /expected a method and a path, such as 'FOO \/orders'/],
    ['a path without its slash', ['-r', 'PUT orders'], /such as 'PUT \/orders'/],
    ['two lines as one header', ['-H', 'a: b\r\nhost: c'], /must be a single line/],
    ['a header that is none', ['-H', 'x'], /is not a header/],
    ['claims that are none', ['--claims', '[1]'], /--claims must be a JSON object/],
    ['an option that is none', ['--fast'], /--fast/],
  ] as const) {
    it(`rejects ${what}`, async () => {
      const { code, err } = await explain(...args)
      assert.equal(code, 2)
      assert.match(err, message)
    })
  }

  it('reports an unknown listener and an invalid address', async () => {
    assert.match((await explain('--listener', 'none')).err, /no listener/)
    assert.match((await explain('--source', 'abc')).err, /invalid IP address/)
  })

  it('prints JSON for programs', async () => {
    const { out } = await explain('-r', 'POST /orders', '--claims', CLAIMS, '--json')
    const { route, stages } = JSON.parse(out)
    assert.equal(route, 'orders')
    const traffic = stages.find(({ stage }: { stage: string }) => stage === 'traffic')
    assert.deepEqual(
      [traffic.verdict, traffic.cause, traffic.deciding],
      ['denied', 'no-allow-match', -1],
    )
    assert.deepEqual(
      traffic.rules.map(({ action, value }: { action: string; value: unknown }) => [action, value]),
      [
        ['Deny', false],
        ['Require', true],
        ['Allow', null],
      ],
    )
    assert.deepEqual(traffic.rules[2].conditions[0], {
      text: "request.method == 'GET'",
      value: false,
      operands: [{ text: 'request.method', value: "'POST'" }],
    })
  })

  it('uses colors on a terminal, and prints no escape sequences from clients', async () => {
    const { out } = await run(['explain', '-f', file, '-r', '/open'], true)
    assert.ok(out.includes('\x1b[32m'))
    const claims = JSON.stringify({ sub: 'a', group: '\x1b[31mred' })
    const plain = await explain('-r', 'POST /orders', '--claims', claims)
    assert.match(plain.out, /red/)
    assert.equal(plain.out.includes('\x1b'), false)
  })
})

describe('a decision in a file', () => {
  const records = join(folder, 'decisions.jsonl')
  const decision = recordOf({
    id: 'some-id',
    listener: 'default',
    route: 'orders',
    method: 'POST',
    host: 'shop.test',
    path: '/orders',
    source: '[2001:db8::1]:4711',
    attributes: [
      { name: 'jwt.group', state: 'shown', value: 'eng' },
      { name: 'jwt.realm.roles', state: 'shown', value: ['a'] },
      { name: 'jwt.sub', state: 'redacted' },
      { name: "request.headers['x-write']", state: 'shown', value: 'yes' },
    ],
  })

  before(async () => {
    const file = await DecisionFile.open({
      path: records,
      maxSize: 1 << 20,
      maxFiles: 1,
      onFailed: assert.fail,
    })
    file.write(decision)
    file.write({ ...decision, id: 'cross-site', kind: 'csrf', cause: 'cross-site' })
    await file.close()
  })

  it('is not explained by rules if `csrf` rejected it', async () => {
    const { code, out, err } = await explain('--decision', 'cross-site', '--decisions', records)
    assert.match(err, /`csrf` rejected the request before any rule/)
    assert.deepEqual([code === 0, out], [false, ''])
  })

  it('is printed', async () => {
    const { code, out } = await run(['why', 'some-id', '--decisions', records])
    assert.equal(code, 0)
    assert.match(out, /^denied {2}POST shop\.test\/orders/)
    assert.equal((await run(['why', 'other', '--decisions', records])).code, 1)
    assert.equal((await run(['why', '--decisions', records])).code, 2)
    assert.match(
      (await run(['why', 'x', '--decisions', `${records}.none`])).err,
      /cannot be read: no such file or directory/,
    )
  })

  it('is explained as far as its values are recorded', async () => {
    const { code, out, err } = await explain('--decision', 'some-id', '--decisions', records)
    assert.match(err, /not in the record: jwt\.sub/)
    assert.match(out, /traffic {2}allowed/)
    assert.equal(code, 0)
  })
})

describe('portcullis effective', () => {
  it('lists the policies of each part, in order', async () => {
    const { code, out } = await run(['effective', '-f', file])
    assert.equal(code, 0)
    for (const part of [
      /listener default\/default {2}HTTP port 8080/,
      /networkAuthorization section:frontendPolicies {2}frontend/,
      /route orders {2}any \/orders\* {2}guarded\n {4}jwtAuthentication route:orders.*\n {4}authorization route:orders.*\n {6}Deny {4}request\.path/,
      /backend orders\/0\n {6}authorization .* not enforced/,
    ]) {
      assert.match(out, part)
    }
  })

  it('fails on unprotected routes if requested', async () => {
    const { code, out } = await run(['effective', '-f', file, '--fail-on-unprotected', '--json'])
    const routes = JSON.parse(out).listeners.flatMap(
      (listener: { routes: readonly { route: string; protection: string }[] }) =>
        listener.routes.map(({ route, protection }) => [route, protection]),
    )
    // With a Deny rule on all connections, everything is at least open by default.
    assert.deepEqual(routes, [
      ['orders', 'guarded'],
      ['open', 'open-by-default'],
      ['half', 'open-by-default'],
      ['lost', 'open-by-default'],
      ['stream', 'open-by-default'],
    ])
    assert.equal(code, 1)
    const bare = join(folder, 'bare.yaml')
    writeFileSync(
      bare,
      `gateways: { default: { port: 8080 } }
routes:
- name: open
  gateways: [default]
  policies: { authorization: { mode: Audit, rules: [{ require: 'false' }] } }
  backends: [{ host: '127.0.0.1:9002' }]
`,
    )
    const failed = await run(['effective', '-f', bare, '--fail-on-unprotected'])
    assert.equal(failed.code, 1)
    assert.match(failed.out, /unprotected: 1\n {2}default\/default open: unprotected\n/)
    assert.equal((await run(['effective', '-f', bare])).code, 0)
  })

  it('detects rules that admit everything, and requires nothing of routes without a backend', async () => {
    const path = join(folder, 'moot.yaml')
    const route = (name: string, policies: string, backends = '[{ host: "a:1" }]') =>
      `- { name: ${name}, hostnames: [${name}.test], policies: { ${policies} }, backends: ${backends} }\n`
    const rules = (...all: readonly string[]) => `authorization: { rules: [${all.join(', ')}] }`
    writeFileSync(
      path,
      `gateways: { default: { port: 8080 } }
routes:
${route('all', rules('{ allow: "true" }', `{ allow: "request.method == 'GET'" }`))}${route(
  'equal',
  rules('{ require: "1 == 1" }', `{ deny: "request.path == '/x'" }`),
)}${route('some', rules('{ allow: "true" }', `{ require: "request.method == 'GET'" }`))}${route(
  'moved',
  'requestRedirect: { scheme: https }',
  '[]',
)}`,
    )
    const { out } = await run(['effective', '-f', path])
    for (const state of [
      'all .*unprotected',
      'equal .*open by default',
      'some .*guarded',
      'moved .*no backend',
    ])
      assert.match(out, new RegExp(`route ${state}\n`))
    assert.match(out, /unprotected: 2\n/)
  })
})

describe('explain of a cross-site browser request', () => {
  it('reports that it is rejected', async () => {
    const path = join(folder, 'csrf.yaml')
    writeFileSync(
      path,
      'gateways: { default: { port: 8080 } }\n' +
        "routes: [{ name: forms, policies: { csrf: {} }, backends: [{ host: 'a:1' }] }]\n",
    )
    const from = (site: string) =>
      run(['explain', '-f', path, '-r', 'POST /', '-H', `sec-fetch-site: ${site}`, '--json'])
    const [cross, own] = [await from('cross-site'), await from('same-origin')]
    const { outcome, status, reason } = JSON.parse(cross.out)
    assert.deepEqual([cross.code, outcome, status, reason], [1, 'rejected', 403, 'csrf'])
    assert.equal(own.code, 0)
  })
})

describe('explain of requests that nothing serves', () => {
  for (const [method, outcome, status] of [
    ['GET', 'not-served', 500],
    ['PUT', 'answered', 200],
    ['POST', 'answered', 503],
  ] as const) {
    it(`${method}: ${outcome} with ${status}`, async () => {
      const { code, out } = await run(['explain', '-f', file, '-r', `${method} /lost`, '--json'])
      const explained = JSON.parse(out)
      assert.deepEqual([explained.outcome, explained.status], [outcome, status])
      assert.equal(code, status === 200 ? 0 : 1)
    })
  }
})
