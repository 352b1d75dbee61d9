import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-connections-'))
after(() => rmSync(FOLDER, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(FOLDER, `${name}.yaml`)
  writeFileSync(path, text)
  return path
}

async function diffOf(old: string, now: string, ...args: readonly string[]) {
  return runWith(['diff', file('old', old), file('new', now), ...args])
}

describe('portcullis diff with client certificates', () => {
  const tls = (more: string) =>
    `tls: { cert: { inline: c }, key: { inline: k }${more === '' ? '' : `, ${more}`} }`
  const listener = (own: string) =>
    `gateways: { default: { port: 8443, ${own} } }\nroutes:\n- { name: api, backends: [{ host: 'a:80' }] }\n`
  const root = 'root: { inline: r }'
  const optional = `${root}, clientCertificates: Optional`
  const named = (more: string, rule = `require: "source.subjectCn == 'alice'"`) =>
    listener(tls(more)).replace(
      'backends',
      `policies: { authorization: { rules: [{ ${rule} }] } }, backends`,
    )
  for (const [what, less, more] of [
    ['which nobody was asked for', listener(tls('')), listener(tls(root))],
    ['which one could do without', listener(tls(optional)), listener(tls(root))],
    ['which rules read as well', named('', `deny: "source.subjectCn == 'a'"`), named(root)],
  ] as const) {
    it(`shows a request without the certificate that is required, ${what}`, async () => {
      for (const [old, now, kind] of [
        [less, more, 'refused'],
        [more, less, 'admitted'],
      ] as const) {
        const { out } = await diffOf(old, now, '--json')
        const { differences, untold } = JSON.parse(out)
        const about = differences.filter((one: { readonly kind: string }) => one.kind === kind)
        assert.equal(about.length, 1, out)
        assert.equal(about[0].example.certificate, undefined)
        const [closed, open] = kind === 'refused' ? ['now', 'old'] : ['old', 'now']
        assert.match(about[0][closed].reason, /client-certificate-missing/)
        assert.equal(about[0][open].isAdmitted, true)
        const unsaid = untold.filter((one: { readonly kind: string }) => one.kind === kind)
        assert.deepEqual(unsaid, [])
      }
    })
  }

  it('proves that a rule which requires a certificate equals a handshake which requires one', async () => {
    const { out } = await diffOf(named(root), named(optional))
    assert.equal(out, 'nothing changes: proven for every request\n')
    const { out: closed } = await diffOf(named(''), named(root), '--json')
    const { differences } = JSON.parse(closed)
    assert.deepEqual(
      differences.filter((one: { readonly kind: string }) => one.kind === 'refused'),
      [],
    )
  })

  it('does not claim proof for clients with an invalid certificate', async () => {
    const { out } = await diffOf(listener(tls('')), listener(tls(optional)))
    assert.match(out, /not known whether any request is newly denied/)
    assert.match(out, /connections with an invalid one are closed/)
    assert.doesNotMatch(out, /newly admitted or/)
  })

  it('does not claim proof for rules that read certificates which are not requested', async () => {
    const { out } = await diffOf(named(''), named(optional), '--json')
    const { differences, untold } = JSON.parse(out)
    const all = [...differences, ...untold].map(({ kind }: { readonly kind: string }) => kind)
    assert.ok(all.includes('admitted'), out)
  })
})

describe('portcullis diff with listeners that share a port', () => {
  const DENY = 'authorization: { rules: [{ deny: "request.path == \'/x\'" }] }'
  const shared = (listeners: string, rule = '') => `gateways:
  default: { port: 8080, listeners: [${listeners}] }
routes: [{ name: api, ${rule} backends: [{ host: 'a:80' }] }]
`
  const one = (name: string, host: string, more = '') =>
    `{ name: ${name}${host === '' ? '' : `, hostname: ${host}`}${more === '' ? '' : `, ${more}`} }`

  it('reports a host that is no longer served and one that newly is', async () => {
    const { out } = await diffOf(
      shared(`${one('a', 'a.test')}, ${one('b', 'b.test')}`),
      shared(`${one('a', 'a.test')}, ${one('b', 'c.test')}`),
    )
    assert.match(out, /newly admitted at listener default\/b[\s\S]*host: c\.test/)
    assert.match(out, /newly denied at listener default\/b[\s\S]*host: b\.test/)
    assert.doesNotMatch(out, /not known|host: a\.test/)
  })

  it('reports what a listener without the rules of the other one admits', async () => {
    const { out } = await diffOf(
      shared(`${one('a', 'a.test', DENY)}, ${one('b', '')}`),
      shared(`${one('a', 'c.test', DENY)}, ${one('b', '')}`),
    )
    assert.match(out, /newly admitted at listener default\/b[\s\S]*GET \/x\n\s*host: a\.test/)
    assert.match(out, /newly denied at listener default\/b[\s\S]*GET \/x\n\s*host: c\.test/)
    assert.doesNotMatch(out, /not known/)
  })

  it('proves that nothing changes if listeners with the same rules share hosts', async () => {
    for (const [old, now] of [
      [`${one('a', 'a.test')}, ${one('b', '')}`, `${one('a', "'*.a.test'")}, ${one('b', '')}`],
      [`${one('a', "'*.test'", DENY)}, ${one('b', 'b.test', DENY)}`, one('a', "'*.test'", DENY)],
      [
        `${one('a', 'a.test', DENY)}, ${one('b', 'b.test')}`,
        `${one('a', 'b.test')}, ${one('b', 'a.test', DENY)}`,
      ],
    ] as const) {
      for (const [before, after] of [
        [old, now],
        [now, old],
      ] as const) {
        const { out } = await diffOf(shared(before), shared(after))
        assert.equal(out, 'nothing changes: proven for every request\n', `${before} ${after}`)
      }
    }
  })

  it('does not claim proof for rules that read the listener name', async () => {
    const rule = `policies: { authorization: { rules: [{ deny: "proxy.listener == 'a'" }] } },`
    const { out } = await diffOf(
      shared(`${one('a', 'a.test')}, ${one('b', 'b.test')}`, rule),
      shared(`${one('a', 'b.test')}, ${one('b', 'a.test')}`, rule),
    )
    assert.match(out, /newly admitted/)
    assert.match(out, /newly denied/)
    assert.doesNotMatch(out, /proven/)
  })

  it('does not analyze TLS names if each connection belongs to one listener', async () => {
    const tls = 'protocol: HTTPS, tls: { cert: { inline: c }, key: { inline: k } }'
    const { out } = await diffOf(
      shared(`${one('a', 'a.test', tls)}, ${one('b', '', tls)}`),
      shared(`${one('a', 'c.test', tls)}, ${one('b', '', tls)}`),
    )
    assert.match(out, /the listeners that share port 8080 differs/)
  })
})

describe('portcullis diff with rules that read the location of a request', () => {
  it('distinguishes routes', async () => {
    const file = (a: string, b: string) => `gateways: { default: { port: 8080 } }
routes:
- { name: ${a}, matches: [{ path: { exact: /a } }], policies: { authorization: { rules: [{ deny: "proxy.route == 'x'" }] } }, backends: [{ host: 'a:80' }] }
- { name: ${b}, matches: [{ path: { exact: /b } }], policies: { authorization: { rules: [{ deny: "proxy.route == 'x'" }] } }, backends: [{ host: 'a:80' }] }
`
    const { out } = await diffOf(file('x', 'y'), file('y', 'x'))
    assert.doesNotMatch(out, /proven/)
    assert.match(out, /newly admitted/)
    assert.match(out, /newly denied/)
  })
})

describe('portcullis diff with TCP and TLS listeners', () => {
  const tls = 'protocol: TLS, tls: { cert: { inline: c }, key: { inline: k } }'
  const stream = (own: string, more = '') => `gateways: { default: { port: 8080 }${own} }
routes: [{ name: api, backends: [{ host: 'a:80' }] }]
${more}`
  const rules = (rule: string) =>
    `, frontendPolicies: { networkAuthorization: { rules: [{ ${rule} }] } }`
  const route = "tcpRoutes: [{ name: t, gateways: [stream], backends: [{ host: 'b:80' }] }]\n"
  const OPEN = `, stream: { port: 9090, ${tls} }`
  const SHUT = `, stream: { port: 9090, ${tls}${rules('deny: "true"')} }`

  it('reports no connection as admitted that no route accepts', async () => {
    for (const [old, now] of [
      ['', OPEN],
      [SHUT, OPEN],
      ['', ', stream: { port: 9090, protocol: TCP }'],
    ] as const) {
      for (const [before, after] of [
        [old, now],
        [now, old],
      ] as const) {
        const { out } = await diffOf(stream(before), stream(after), '--json')
        assert.deepEqual(JSON.parse(out).differences, [], out)
      }
    }
  })

  it('reports a connection that a new route accepts', async () => {
    for (const own of [OPEN, ', stream: { port: 9090, protocol: TCP }']) {
      const { out } = await diffOf(stream(own), stream(own, route))
      assert.match(out, /newly admitted at listener stream\/default\n {4}a connection/)
      assert.match(out, /before: closed: no-route\n/)
      const { out: gone } = await diffOf(stream(own, route), stream(own))
      assert.match(gone, /newly denied at listener stream\/default\n/)
    }
  })

  it('shows a server name that both the listener and the route serve', async () => {
    for (const [hostname, hostnames] of [
      ['a.test', ''],
      ['', "hostnames: ['a.test'], "],
      ["'*.test'", "hostnames: ['a.test'], "],
    ] as const) {
      const own = hostname === '' ? OPEN : OPEN.replace('port', `hostname: ${hostname}, port`)
      const named = route.replace('gateways', `${hostnames}gateways`)
      const { out } = await diffOf(stream(own), stream(own, named))
      assert.match(out, /newly admitted at listener stream\/default\n.*\n +SNI a\.test\n/, out)
    }
  })
})

describe('portcullis diff with trusted proxies', () => {
  const NETWORK = "cidr('10.0.0.0/8').containsIP(source.address)"
  const file = (hops: number, more = '') => `gateways: { default: { port: 8080 } }
frontendPolicies:
  http: { trustedHops: ${hops} }
  networkAuthorization: { rules: [{ require: "${NETWORK}" }] }
routes:
- name: api
  policies: { authorization: { rules: [{ deny: "${NETWORK}" }${more}] } }
  backends: [{ host: 'a:80' }]
`
  const DENY = `, { deny: "request.path == '/x'" }`

  it('does not treat the proxy as the client', async () => {
    const { out } = await diffOf(file(1), file(1, DENY))
    assert.match(out, /not known whether any request is newly denied/)
    const { out: without } = await diffOf(file(0), file(0, DENY))
    assert.equal(without, 'nothing changes: proven for every request\n')
  })
})

describe('portcullis diff with local responses', () => {
  const file = (own: string, rule: string) => `gateways: { default: { port: 8080 } }
routes:
- name: api
  policies: { ${own}, authorization: { rules: [{ ${rule} }] } }
  backends:
  - { host: 'a:80', policies: { authorization: { rules: [{ deny: "request.path.startsWith('/')" }] } } }
`
  const [less, more] = [`deny: "request.path == '/a'"`, `deny: "request.path == '/b'"`]

  it('does not evaluate backend rules if the backend is never reached', async () => {
    for (const own of ['requestRedirect: { scheme: https }', 'directResponse: { status: 200 }']) {
      const { out } = await diffOf(file(own, less), file(own, more))
      assert.match(out, /newly admitted at .*route api\n +GET \/a\n/)
      assert.match(out, /newly denied at .*route api\n +GET \/b\n/)
    }
  })

  const onlyIf = (condition: string, status = 200) =>
    `directResponse: { conditional: [{ condition: "${condition}", status: ${status} }] }`

  it('evaluates backend rules for requests that the response condition leaves to the backend', async () => {
    const own = onlyIf("request.method == 'PUT'")
    const { out } = await diffOf(file(own, less), file(own, more))
    assert.match(out, /newly admitted at .*\n +PUT \/a\n/)
    assert.match(out, /newly denied at .*\n +PUT \/b\n/)
    assert.match(out, /^1 newly admitted, 1 newly denied$/m)
    const other = onlyIf("request.method == 'PUT' || request.method == 'PUT'")
    assert.equal((await diffOf(file(own, less), file(other, less))).out, PROVEN)
    const wider = onlyIf("request.method in ['PUT', 'POST']")
    assert.match((await diffOf(file(own, less), file(wider, less))).out, /admitted .*\n +POST \//)
  })

  it('does not count an error response as admitted', async () => {
    const [fine, error] = [
      onlyIf("request.method == 'PUT'"),
      onlyIf("request.method == 'PUT'", 503),
    ]
    const { out } = await diffOf(file(fine, less), file(error, less))
    assert.match(out, /newly denied at .*\n +PUT \/[\s\S]* {2}after: {2}503: direct-response\n/)
    assert.match(out, /^0 newly admitted, 1 newly denied$/m)
  })

  it('reports random conditions as not known', async () => {
    const own = onlyIf('random() < 0.5')
    const { out } = await diffOf(file(own, less), file(own, more))
    assert.match(out, /not known whether any request is newly admitted or newly denied/)
    assert.match(out, /a condition of `directResponse`/)
  })
})

const PROVEN = 'nothing changes: proven for every request\n'

describe('portcullis diff with routes that nothing serves', () => {
  const file = (backends: string, own = '') => `gateways: { default: { port: 8080 } }
routes:
- name: api
  policies: { authorization: { rules: [{ deny: "request.path == '/a'" }] }${own} }
  backends: [${backends}]
`
  const SERVED = "{ host: 'a:80' }"
  for (const [what, backends] of [
    ['no backend', ''],
    ['no backend with a share', "{ host: 'a:80', weight: 0 }"],
  ] as const) {
    it(`admits nothing to a route with ${what}`, async () => {
      const { out } = await diffOf(file(SERVED), file(backends))
      assert.match(out, /newly denied at .*\n +GET \/[\s\S]* {2}after: {2}500: no-backend\n/)
      const back = await diffOf(file(backends), file(SERVED), '--fail-on-newly-admitted')
      assert.match(back.out, /newly admitted at .*\n +GET \/[\s\S]* {2}before: 500: no-backend\n/)
      assert.equal(back.code, 1)
      const open = file(backends).replace('/a', '/b')
      assert.equal((await diffOf(file(backends), open)).out, PROVEN)
    })

    it(`admits to a route with ${what} what the gateway itself responds to`, async () => {
      const own = (method: string) =>
        `, directResponse: { conditional: [{ condition: "request.method == '${method}'", status: 200 }] }`
      const { out } = await diffOf(file(backends, own('PUT')), file(backends, own('POST')))
      assert.match(out, /newly admitted at .*\n +POST \/[\s\S]* {2}before: 500: no-backend\n/)
      assert.match(out, /newly denied at .*\n +PUT \/[\s\S]* {2}after: {2}500: no-backend\n/)
      assert.match(out, /^1 newly admitted, 1 newly denied$/m)
    })
  }

  it('does not evaluate the rules of a backend with weight 0', async () => {
    const idle = (rule: string) =>
      file(
        `${SERVED}, { host: 'b:80', weight: 0, policies: { authorization: { rules: [{ ${rule} }] } } }`,
      )
    const [one, other] = [`deny: "request.path == '/b'"`, `allow: "request.path == '/c'"`]
    assert.equal((await diffOf(idle(one), idle(other))).out, PROVEN)
    const busy = idle(other).replace('weight: 0', 'weight: 1')
    assert.match((await diffOf(idle(other), busy)).out, /^newly denied at /)
  })
})
