import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'
import { makeAuthority } from './suite/certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
after(() => rmSync(folder, { recursive: true }))

async function effective(text: string, ...args: readonly string[]) {
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, text)
  return runWith(['effective', '-f', file, ...args])
}

/** The protection of each route, by name. */
async function protections(text: string): Promise<Readonly<Record<string, string>>> {
  const { out, err } = await effective(text, '--json')
  assert.equal(err, '')
  const { listeners } = JSON.parse(out) as {
    listeners: { routes: { route: string; protection: string }[] }[]
  }
  return Object.fromEntries(
    listeners.flatMap(({ routes }) => routes.map(({ route, protection }) => [route, protection])),
  )
}

interface Written {
  readonly rules: readonly string[]
  readonly matches?: string
}

function route(name: string, { rules, matches }: Written): string {
  const own = rules.map((rule) => `      - ${rule}\n`).join('')
  return `- name: ${name}
  hostnames: [${name}.test]
${matches === undefined ? '' : `  matches: [${matches}]\n`}  policies:
    authorization:
      rules:
${own}  backends: [{ host: 'a:80' }]
`
}

const configuration = (routes: string) =>
  `gateways: { default: { port: 8080 } }\nroutes:\n${routes}`

describe('effective: rules that every request satisfies guard nothing', () => {
  for (const [what, written] of [
    ['a path that begins as all do', { rules: [`require: request.path.startsWith('/')`] }],
    ['a path that is there', { rules: ['require: has(request.path)'] }],
    [
      'a header or none',
      { rules: [`allow: "'x' in request.headers || !('x' in request.headers)"`] },
    ],
    [
      'two that add up',
      { rules: [`allow: request.method == 'GET'`, `allow: request.method != 'GET'`] },
    ],
    ['its own host', { rules: [`require: request.host == 'x.test'`] }],
    [
      'its own path',
      {
        rules: [`allow: request.path.startsWith('/a')`],
        matches: '{ path: { pathPrefix: /a } }',
      },
    ],
    [
      'its own exact path',
      { rules: [`allow: request.path == '/a'`], matches: '{ path: { exact: /a } }' },
    ],
    [
      'its own method',
      {
        rules: [`allow: request.method == 'PUT'`],
        matches: '{ method: PUT, path: { pathPrefix: / } }',
      },
    ],
    [
      'its own header',
      {
        rules: [`allow: "request.headers['x-a'] == '1'"`],
        matches: `{ path: { pathPrefix: / }, headers: [{ name: x-a, value: { exact: '1' } }] }`,
      },
    ],
    ['its own scheme', { rules: [`require: request.scheme == 'http'`] }],
    ['its own names', { rules: [`require: proxy.route == 'x' && proxy.gateway == 'default'`] }],
    [
      'an address of any family',
      {
        rules: [
          `allow: cidr('0.0.0.0/0').containsIP(source.address) || cidr('::/0').containsIP(source.address)`,
        ],
      },
    ],
    [
      'a header that is no other',
      {
        rules: [
          `allow: "!('x' in request.headers) || request.headers['x'] == 'a' || request.headers['x'] != 'a'"`,
        ],
      },
    ],
    ['a conditional', { rules: [`require: "request.method == 'GET' ? true : true"`] }],
    [
      'a Require beside an Allow for all',
      { rules: ['allow: has(request.host)', `require: request.path != ''`] },
    ],
  ] as readonly (readonly [string, Written])[]) {
    it(what, async () => {
      const found = await protections(configuration(route('x', written)))
      assert.deepEqual(found, { x: 'unprotected' })
    })
  }

  it('metadata set by a transformation is not known, and so guards nothing', async () => {
    const text = `gateways: { default: { port: 3000 } }
routes:
- name: x
  policies: { transformations: { request: { metadata: { team: "'blue'" } } } }
  backends:
  - host: 'a:80'
    policies: { authorization: { rules: [{ require: "metadata.team == 'blue'" }] } }
`
    assert.notEqual((await protections(text))['x'], 'guarded')
  })

  for (const [entries, isGuarded] of [
    ["{ host: 'a:1' }", true],
    ["{ condition: 'request.path == \"/x\"', host: 'a:1' }", false],
    ["{ host: 'a:1', failureMode: Allow }", false],
    ["{ condition: 'request.path == \"/x\"', host: 'a:1' }, { host: 'b:1' }", true],
  ] as const) {
    it(`a service that is asked by condition: ${entries}`, async () => {
      const text = `gateways: { default: { port: 3000 } }
routes:
- name: x
  policies: { extAuthz: { conditional: [${entries}] } }
  backends: [{ host: 'a:80' }]
`
      const { code, out } = await effective(text, '--fail-on-unprotected')
      assert.equal(code, isGuarded ? 0 : 1)
      assert.equal(/by condition|fails open/.test(out), !isGuarded)
      assert.deepEqual(await protections(text), { x: isGuarded ? 'guarded' : 'unknown' })
    })
  }

  for (const rule of [
    'require: "\'host\' in request.headers"',
    'require: source.port > 0',
    "require: request.path.matches('^/')",
  ]) {
    it(`what denies nothing that can be shown is not called guarded: ${rule}`, async () => {
      const text = configuration(route('x', { rules: [rule] }))
      assert.notEqual((await protections(text))['x'], 'guarded')
      const { out, code } = await effective(text, '--fail-on-unprotected')
      assert.match(out, /unprotected: 1\n/)
      assert.equal(code, 1)
    })
  }

  it('is open by default with a Deny rule beside them', async () => {
    const rules = ['require: has(request.path)', `deny: request.path == '/x'`]
    assert.deepEqual(await protections(configuration(route('x', { rules }))), {
      x: 'open-by-default',
    })
  })
})

describe('effective: protection of a part', () => {
  const two = (first: string, second: string) => `
- name: x
  backends:
  - { host: 'a:80'${first} }
  - { host: 'b:80'${second} }
`
  const rules = (rule: string) => `, policies: { authorization: { rules: [{ ${rule} }] } }`
  for (const [what, routes, protection] of [
    [
      'one of two matches',
      route('x', {
        rules: [`allow: request.method == 'PUT'`],
        matches: '{ method: PUT, path: { pathPrefix: / } }, { method: GET, path: { exact: /b } }',
      }),
      'partly-guarded',
    ],
    [
      'one of two hostnames',
      route('x', { rules: [`allow: request.host != 'b.test'`] }).replace(
        'x.test',
        "x.b.test, '*.test'",
      ),
      'partly-guarded',
    ],
    [
      'the hostname that is named first',
      route('x', { rules: [`allow: request.host != 'b.test'`] }).replace(
        'x.test',
        'b.test, c.test',
      ),
      'partly-guarded',
    ],
    ['one of two backends', two(rules('allow: "request.method == \'GET\'"'), ''), 'partly-guarded'],
    [
      'one of two backends by a Deny rule',
      two(rules('deny: "request.method == \'GET\'"'), ''),
      'open-by-default',
    ],
    [
      'one of two backends, as far as is known',
      two(rules('require: source.port > 0'), ''),
      'unknown',
    ],
  ] as const) {
    it(`${what}, which is not called unprotected and counts as such`, async () => {
      const text = configuration(routes)
      assert.deepEqual(await protections(text), { x: protection })
      const { out, code } = await effective(text, '--fail-on-unprotected')
      assert.match(out, /unprotected: 1\n/)
      assert.equal(code, 1)
    })
  }

  it('a match that no request can satisfy does not affect the protection of the others', async () => {
    const rule = "request.method.startsWith('get')"
    const text = configuration(`
- { name: open, backends: [{ host: 'a:80' }] }
- name: x
  matches: [{ path: { pathPrefix: /ab } }, {}]
  backends: [{ host: 'b:80'${rules(`allow: "${rule}"`)} }]
`)
    assert.deepEqual(await protections(text), { open: 'unprotected', x: 'guarded' })
  })
})

describe('effective: rules that guard', () => {
  for (const [what, written] of [
    ['a path that not all have', { rules: [`require: request.path.startsWith('/a')`] }],
    ['a header', { rules: [`allow: "request.headers['x'] == '1'"`] }],
    ['a pattern', { rules: [`allow: request.path.matches('^/a/[0-9]+$')`] }],
    ['another host than its own', { rules: [`require: request.host == 'y.test'`] }],
    ['part of its methods', { rules: [`allow: request.method in ['GET', 'HEAD']`] }],
  ] as readonly (readonly [string, Written])[]) {
    it(what, async () => {
      assert.deepEqual(await protections(configuration(route('x', written))), { x: 'guarded' })
    })
  }

  it('a required client certificate guards', async () => {
    const { cert, key } = makeAuthority('authority').issue('a.test', ['DNS:a.test'])
    for (const [name, text] of Object.entries({ cert, key }))
      writeFileSync(join(folder, name), text)
    const listener = (clients: string) => `gateways:
  default:
    port: 8443
    tls: { cert: cert, key: key, root: cert${clients} }
routes:
- { name: x, backends: [{ host: 'a:80' }] }
`
    assert.deepEqual(await protections(listener('')), { x: 'guarded' })
    const optional = listener(', clientCertificates: Optional')
    assert.deepEqual(await protections(optional), { x: 'unprotected' })
    assert.match(
      (await effective(listener(''))).out,
      /clientCertificates listener:default {2}required/,
    )
  })
})

describe('effective: files that serve nothing', () => {
  for (const [what, text] of [
    ['an empty file', ''],
    ['no gateway', 'gateways: {}\n'],
    ['a gateway without routes', 'gateways: { default: { port: 8080 } }\n'],
  ] as const) {
    it(what, async () => {
      const { out, code } = await effective(text, '--fail-on-unprotected')
      assert.match(out, /nothing is served/)
      assert.doesNotMatch(out, /everything is protected/)
      assert.equal(code, 0)
    })
  }
})

describe('effective: responses of the gateway itself', () => {
  const own = (response: string, policies = '') => `gateways: { default: { port: 8080 } }
routes:
- name: own
  policies:
    directResponse: ${response}
${policies}`
  const ALWAYS = "    authorization: { rules: [{ require: request.path.startsWith('/') }] }\n"
  const SOME = "    authorization: { rules: [{ require: request.method == 'GET' }] }\n"

  for (const [response, policies, expected] of [
    ['{ status: 200, body: secret }', '', 'unprotected'],
    ['{ status: 200, body: secret }', ALWAYS, 'unprotected'],
    ['{ status: 200, body: secret }', SOME, 'guarded'],
    ['{ status: 200, bodyExpression: request.path }', ALWAYS, 'unprotected'],
    ['{ conditional: [{ status: 404 }, { status: 200, body: b }] }', '', 'unprotected'],
    ['{ status: 200 }', '', 'no-backend'],
    ['{ status: 403, body: no }', '', 'no-backend'],
    ['{ status: 301, headers: { location: "\'https://a.test\'" } }', '', 'no-backend'],
  ] as const) {
    it(`${response} ${policies.trim()}: ${expected}`, async () => {
      const text = own(response, policies).replace(
        '[{ status: 404 }',
        '[{ condition: \'request.path == "/a"\', status: 404 }',
      )
      assert.deepEqual(await protections(text), { own: expected })
      const { code } = await effective(text, '--fail-on-unprotected')
      assert.equal(code, expected === 'unprotected' ? 1 : 0)
    })
  }

  it('the Admin UI on a gateway is guarded by its own sign-in', async () => {
    const own = join(folder, 'ui.yaml')
    writeFileSync(own, 'gateways: { default: { port: 8080 } }\nui: {}\n')
    const { code, out } = await runWith(['effective', own, '--fail-on-unprotected'])
    assert.equal(code, 0, out)
    assert.match(out, /adminAuth backend:ui/)
  })
})
