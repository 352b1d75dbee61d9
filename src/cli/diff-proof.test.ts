import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'diff-proof-'))
after(() => rmSync(FOLDER, { recursive: true }))

const run = (...args: readonly string[]) => runWith(args)

function file(name: string, text: string): string {
  const path = join(FOLDER, `${name}.yaml`)
  writeFileSync(path, text)
  return path
}

const TOKEN = `    jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } }\n`
const config = (policies: string, more = '') =>
  `gateways: { default: { port: 8080 } }\nroutes:\n- name: api\n  policies:\n${policies}  backends: [{ host: 'a:80' }]\n${more}`
const rules = (...list: readonly string[]) =>
  `    authorization: { rules: [${list.map((rule) => `{ ${rule} }`).join(', ')}] }\n`

async function diffOf(old: string, now: string, ...args: readonly string[]) {
  return run('diff', file('old', old), file('new', now), ...args)
}

const anyOf = `    authentication: { anyOf: [{ apiKey: { keys: [{ keyHash: 'sha256:${'0'.repeat(64)}' }] } }] }\n`

describe('portcullis diff proofs', () => {
  const hosts = (guard: string, name = 'b.test') => `gateways: { default: { port: 8080 } }
routes:
- { name: a, hostnames: [a.test], backends: [{ host: 'a:80' }] }
- name: b
  hostnames: ${name === '' ? '[]' : `['${name}']`}
  policies: { ${guard} }
  backends: [{ host: 'a:80' }]
`
  const guard = `authorization: { rules: [{ deny: "request.host == 'b.test' && request.path.startsWith('/admin')" }] }`
  it('analyzes each route under its own hostname, even without matches', async () => {
    const { out, code } = await diffOf(
      hosts(guard),
      hosts('timeout: {}'),
      '--fail-on-newly-admitted',
    )
    assert.match(out, /newly admitted at listener default\/default, route b,[\s\S]*host: b\.test/)
    assert.equal(code, 1)
    for (const wider of ['', '*', '*.test']) {
      const found = await diffOf(hosts('timeout: {}'), hosts('timeout: {}', wider))
      assert.match(found.out, /newly admitted at listener default\/default, route b/, wider)
    }
  })

  const tls = (more: string) =>
    `tls: { cert: { inline: c }, key: { inline: k }${more === '' ? '' : `, ${more}`} }`
  const listener = (own: string, more = '') =>
    `gateways: { default: { port: 8443, ${own} } }\nroutes:\n- { name: api, backends: [{ host: 'a:80' }] }\n${more}`
  const root = 'root: { inline: r }'
  const frontend = (own: string) => listener('protocol: HTTP', `frontendPolicies: { ${own} }\n`)
  for (const [what, old, now, part] of [
    [
      'the authority of client certificates',
      listener(tls(root)),
      listener(tls('root: { inline: other }')),
      /tls\.clients\.ca/,
    ],
    [
      'encryption',
      listener(tls('')),
      listener('protocol: HTTP'),
      /`protocol` of listener `default`/,
    ],
    [
      'the port',
      listener(tls('')),
      listener(tls('')).replace('8443', '9443'),
      /`port` of listener `default`/,
    ],
    [
      'how long heads may be',
      frontend('http: { maxHeadSize: 1Ki }'),
      frontend('http: {}'),
      /maxHeadSize/,
    ],
    [
      'responses of the gateway itself',
      config('    timeout: {}\n'),
      config('    directResponse: { status: 403 }\n'),
      /`directResponse\.status` of route `api`/,
    ],
  ] as const) {
    it(`names what differs and is not accounted for: ${what}`, async () => {
      const { out, code } = await diffOf(old, now, '--fail-on-newly-admitted')
      assert.match(out, /not known whether any request is newly admitted or newly denied/)
      assert.match(out, part)
      assert.equal(code, 1)
    })
  }

  for (const [what, old, now] of [
    ['times', config('    timeout: {}\n'), config('    timeout: { request: 3s }\n')],
    [
      'logs',
      config('    timeout: {}\n'),
      config('    timeout: {}\n', 'config: { logging: { level: debug } }\n'),
    ],
    [
      'headers that are sent on',
      config('    timeout: {}\n'),
      config('    requestHeaders: { set: { a: b } }\n'),
    ],
    [
      'where requests go',
      config('    timeout: {}\n'),
      config('    timeout: {}\n').replace('a:80', 'b:81'),
    ],
    [
      'the same certificate of the gateway',
      listener(tls('')),
      listener(tls('').replace('inline: c', 'inline: d')),
    ],
  ] as const) {
    it(`proves that nothing changes by ${what}`, async () => {
      const { out } = await diffOf(old, now)
      assert.equal(out, 'nothing changes: proven for every request\n')
    })
  }

  const deny = (text: string) => config(`${TOKEN}${rules(`deny: "${text}"`)}`)
  const open = config(TOKEN)
  for (const [what, old, now, example] of [
    [
      'members of objects',
      deny("'roles' in jwt.realm_access && 'banned' in jwt.realm_access.roles"),
      open,
      /"realm_access":\{"roles":\["banned"\]\}/,
    ],
    ['names of members', deny("jwt.o.exists(k, k == 'x') && has(jwt.o.x)"), open, /"o":\{"x":/],
    ['fractions', deny('jwt.risk > 0.5'), deny('jwt.risk >= 0.9'), /"risk":0\.[5-8]/],
    [
      'large numbers',
      deny('jwt.risk > 1e300 && jwt.risk < 1.1e300'),
      open,
      /"risk":1\.0[0-9]*e\+300/,
    ],
    [
      'no host',
      config(rules(`deny: "request.host == ''"`)),
      config('    timeout: {}\n'),
      /host: $/m,
    ],
  ] as const) {
    it(`finds what a rule on ${what} rejected`, async () => {
      const { out } = await diffOf(old, now, '--fail-on-newly-admitted')
      assert.match(out, /newly admitted at listener default\/default, route api/)
      assert.match(out, example)
    })
  }

  it('ignores OPTIONS *, which is rejected', async () => {
    const rule = config(rules(`require: "request.path.startsWith('/')"`))
    const { out } = await diffOf(rule, config('    timeout: {}\n'))
    assert.match(out, /nothing changes: proven/)
  })

  it('does not treat a parameter as a substring of the query', async () => {
    const file = (rule: string) => `gateways: { default: { port: 8080 } }
routes:
- name: api
  matches: [{ path: { pathPrefix: / }, query: [{ name: q, value: { exact: '1' } }] }]
  policies: { ${rule} }
  backends: [{ host: 'a:80' }]
`
    // `?%71=1` sets the parameter too.
    const guarded = `authorization: { rules: [{ require: "request.query.contains('q=1')" }] }`
    const { out } = await diffOf(file(guarded), file('timeout: {}'))
    assert.doesNotMatch(out, /nothing changes/)
  })

  it('uses the first of several header matches with one name, as the gateway does', async () => {
    const file = (rule: string) => `gateways: { default: { port: 8080 } }
routes:
- name: api
  matches: [{ headers: [{ name: x, value: { exact: '1' } }, { name: X, value: { exact: '2' } }] }]
  policies: { ${rule} }
  backends: [{ host: 'a:80' }]
`
    const { out } = await diffOf(
      file('timeout: {}'),
      file('authorization: { rules: [{ deny: "true" }] }'),
    )
    assert.match(out, /newly denied at .*route api[\s\S]*x: 1/)
  })

  it('detects that route names were swapped', async () => {
    const file = (
      first: string,
      second: string,
      rule: string,
    ) => `gateways: { default: { port: 8080 } }
routes:
- { name: ${first}, matches: [{ path: { exact: /a } }], backends: [{ host: 'a:80' }] }
- { name: ${second}, matches: [{ path: { exact: /b } }], policies: { ${rule} }, backends: [{ host: 'a:80' }] }
`
    const closed = 'authorization: { rules: [{ deny: "true" }] }'
    const { out } = await diffOf(file('a', 'b', closed), file('b', 'a', 'timeout: {}'))
    assert.match(out, /newly admitted[\s\S]*GET \/b/)
  })

  for (const [title, part, old, now] of [
    ['the size of heads', /maxHeadSize/, 'http: {}', 'http: { maxHeadSize: 1Ki }'],
  ] as const) {
    it(`names every listener that ${title} reach, both ways`, async () => {
      const file = (own: string) => `gateways:
  default: { port: 8080 }
  edge: { port: 8081, listeners: [{ name: a, hostname: a.test }, { name: b, hostname: b.test }] }
frontendPolicies: { ${own} }
routes: [{ name: api, backends: [{ host: 'a:80' }] }]
`
      for (const [from, to] of [
        [old, now],
        [now, old],
      ] as const) {
        const { out } = await diffOf(file(from), file(to), '--json')
        const untold = JSON.parse(out).untold as Record<string, string>[]
        const about = untold.filter((one) => part.test(one['part'] ?? ''))
        const places = new Set(about.map(({ kind, listener }) => `${kind} ${listener}`))
        assert.deepEqual(
          [...places].sort(),
          ['admitted', 'refused'].flatMap((kind) =>
            ['default/default', 'edge/a', 'edge/b'].map((name) => `${kind} ${name}`),
          ),
        )
      }
      const { out } = await diffOf(file(old), file(now))
      assert.equal(out.split('\n').filter((line) => part.test(line)).length, 1, out)
      assert.match(out, /at listener default\/default; listener edge\/a; listener edge\/b: /)
    })
  }

  it('considers other deciding policies on the route that receives the requests', async () => {
    const both = (own: string, policy: string) => `gateways: { default: { port: 8080 } }
routes:
- { name: a, ${own}policies: { ${policy} }, backends: [{ host: 'a:80' }] }
- { name: b, backends: [{ host: 'b:80' }] }
`
    for (const [policy, kind] of [
      ['csrf: {}', 'csrf'],
      ["cors: { allowOrigins: ['*'] }", 'cors'],
    ] as const) {
      const [old, now] = [both('', policy), both('hostnames: [a.test], ', policy)]
      const { out, code } = await diffOf(old, now, '--fail-on-newly-admitted')
      assert.match(out, new RegExp(`not known .*newly admitted .*: \`${kind}\` differs`))
      assert.equal(code, 1)
    }
    const [old, now] = [both('', 'timeout: {}'), both('hostnames: [a.test], ', 'timeout: {}')]
    assert.match((await diffOf(old, now)).out, /^nothing changes/)
  })

  it('names the listeners of a route with a part that is not accounted for', async () => {
    const { out } = await diffOf(
      config('    timeout: {}\n'),
      config('    directResponse: { status: 403 }\n'),
    )
    assert.match(out, /newly denied at listener default\/default, route api: .*directResponse/)
  })

  for (const [title, rule, host] of [
    ['is not a name', "allow: \"!('b.test' == request.headers['host'])\"", 'b.test'],
    ['has capitals and a port', "deny: \"request.headers['host'] == 'B.test:80'\"", 'B.test:80'],
    ['begins with a name', "deny: \"request.headers['host'].startsWith('b.')\"", 'b.z:80'],
    [
      'is in lower case',
      "allow: \"request.host != 'b.test' || request.headers['host'] == 'b.test'\"",
      'B.TEST',
    ],
    ['is not there', 'deny: "!(\'host\' in request.headers)"', ''],
    [
      'and the host differ',
      "deny: \"request.host == 'b.test' && request.headers['host'] != 'b.test'\"",
      'B.TEST',
    ],
  ] as const) {
    it(`shows one host where a rule says that the header ${title}`, async () => {
      const { out } = await diffOf(config('    timeout: {}\n'), config(rules(rule)), '--json')
      const { differences, untold } = JSON.parse(out)
      const hosts = differences.map((one: { example: { host: string } }) => one.example.host)
      assert.deepEqual(hosts, [host])
      assert.deepEqual(untold, [])
      for (const { example } of differences) assert.equal(example.headers.host, undefined)
    })
  }

  it('shows a certificate if the listener requires one', async () => {
    const denying = (more: string) =>
      listener(tls(more)).replace(
        'backends',
        `policies: { authorization: { rules: [{ deny: "request.method == 'POST'" }] } }, backends`,
      )
    const { out } = await diffOf(listener(tls(root)), denying(root))
    assert.match(out, /newly denied[\s\S]*with any accepted client certificate/)
    const json = await diffOf(listener(tls(root)), denying(root), '--json')
    assert.deepEqual(JSON.parse(json.out).differences[0].example.certificate, {})
    for (const more of ['', `${root}, clientCertificates: Optional`]) {
      const found = await diffOf(listener(tls(more)), denying(more))
      assert.match(found.out, /newly denied/)
      assert.doesNotMatch(found.out, /certificate/)
    }
  })

  it('treats only SPIFFE IDs as identities', async () => {
    const ruled = (rule: string) =>
      listener(tls(root)).replace(
        'backends',
        `policies: { authorization: { rules: [{ ${rule} }] } }, backends`,
      )
    const { out } = await diffOf(
      listener(tls(root)),
      ruled(`deny: "source.identity != 'spiffe://a/b'"`),
      '--json',
    )
    const { certificate } = JSON.parse(out).differences[0].example
    assert.match(certificate.identity, /^spiffe:\/\//)
    assert.deepEqual(certificate.subjectAltNames, [certificate.identity])
    const none = await diffOf(listener(tls(root)), ruled(`deny: "source.identity == 'other'"`))
    assert.equal(none.out, 'nothing changes: proven for every request\n')
  })

  const tokens = (mode: string, issuers: readonly string[]) => {
    const providers = issuers.map(
      (one) => `{ issuer: 'https://${one}', jwks: { inline: '{"keys":[]}' } }`,
    )
    return `    jwtAuthentication: { mode: ${mode}, providers: [${providers.join(', ')}] }\n`
  }
  const carol = rules(`deny: "jwt.sub == 'carol'"`)
  for (const [what, old, now, admitted, rejected] of [
    ['must be there or may be bad', ['Strict', 'i'], ['Permissive', 'i'], /requires cred/, ''],
    ['may be absent or bad', ['Optional', 'i'], ['Permissive', 'i'], /Bearer invalid/, ''],
    [
      'may be of another issuer',
      ['Strict', 'i'],
      ['Strict', 'i', 'j'],
      /tokens from issuer .*j are not/,
      '',
    ],
  ] as const) {
    it(`shows by which credentials it differs that tokens ${what}`, async () => {
      const file = ([mode, ...issuers]: readonly [string, ...string[]]) =>
        config(`${tokens(mode, issuers)}${issuers.length > 1 ? '' : carol}`)
      const { out } = await diffOf(file(old), file(now))
      assert.match(out, admitted)
      assert.match(out, /newly admitted at listener default\/default, route api/)
      assert.doesNotMatch(out, /newly denied at|not known/, rejected)
    })
  }

  it('does not claim proof that one of several credentials is optional', async () => {
    const strict = anyOf
    const optional = anyOf.replace('authentication: {', 'authentication: { mode: Optional,')
    const { out } = await diffOf(config(strict), config(optional))
    assert.doesNotMatch(out, /nothing changes/)
  })
})
