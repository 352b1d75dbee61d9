import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { TESTING_CODES } from '../diagnostics/codes/testing.ts'
import { runWith } from './fixtures/run.ts'
import { makeAuthority } from './suite/certificate.ts'
import { parseSuite } from './suite/read.ts'

const FOLDER = mkdtempSync(join(tmpdir(), 'cases-'))
after(() => rmSync(FOLDER, { recursive: true }))

const run = (...args: readonly string[]) => runWith(['test', ...args])

const CONFIG = `config:
  gateways:
    default: { port: 8080 }
  routes:
    - name: api
      policies:
        requestHeaders: { set: { x-seen: '1' }, remove: [x-secret] }
        authorization:
          rules:
            - allow: request.method == 'GET'
            - deny: request.path == '/denied'
      backends: [{ backend: api }]
  backends:
    - { name: api, host: 'api:8080' }
backends:
  api: { status: 201, headers: { x-own: '1' }, body: made }
`

function suite(name: string, requests: string): string {
  const file = join(FOLDER, `${name}.yaml`)
  writeFileSync(file, `name: ${name}\n${CONFIG}requests:\n${requests}`)
  return file
}

describe('portcullis test', () => {
  it('sends the body of a GET as part of the request', async () => {
    const file = suite(
      'body',
      '- { body: text, expect: { status: 201, upstream: { method: GET, body: text } } }\n',
    )
    const { code, out } = await run(file)
    assert.equal(code, 0, out)
  })

  it('passes', async () => {
    const file = suite(
      'passes',
      `- path: /a?b=c
  headers: { x-secret: s }
  expect:
    status: 201
    headers: { x-own: '1', x-other: null }
    body: made
    because: Allow[0] matches
    policy: route:api
    stage: traffic
    upstream: { backend: api, method: GET, path: /a?b=c, headers: { x-seen: '1', x-secret: null } }
- { method: POST, body: text, expect: { status: 403, upstream: false } }
`,
    )
    const { code, out } = await run(file)
    assert.match(out, /passes: 2 of 2 passed\n {2}1 of 2 rules decided something\n/)
    assert.match(out, /never: Deny request\.path == '\/denied'/)
    assert.equal(code, 0)
    assert.equal((await run(file, '--fail-on-uncovered')).code, 1)
  })

  for (const [where, indent] of [
    ['for all gateways', '  '],
    ['of one gateway', '      '],
  ] as const) {
    it(`needs no load balancer where PROXY protocol is required ${where}`, async () => {
      const required = `${indent}frontendPolicies: { proxyProtocol: { mode: Strict, version: V2 } }\n`
      const config = CONFIG.replace('{ port: 8080 }\n', `\n      port: 8080\n`).replace(
        indent === '  ' ? 'config:\n' : 'port: 8080\n',
        (line) => `${line}${required}`,
      )
      const froms = ['', 'from: 127.0.0.9, ', 'from: 203.0.113.7, ']
      for (const from of froms) {
        // A method that looks like the header is not one: the rules deny it.
        for (const expected of ['expect: 201', 'method: PROXY, expect: 403']) {
          const file = join(FOLDER, 'proxied.yaml')
          writeFileSync(file, `name: proxied\n${config}requests:\n- { ${from}${expected} }\n`)
          assert.match((await run(file)).out, /proxied: 1 of 1 passed/, `${from}${expected}`)
        }
      }
    })
  }

  it('connects to the stand-in of a TCP route without the TLS of its backend', async () => {
    const file = join(FOLDER, 'stream.yaml')
    const policies = '{ backendTLS: { insecure: true } }'
    const config = [
      'gateways:\n    streams: { port: 8443, protocol: TCP }',
      `tcpRoutes: [{ name: s, gateways: [streams], backends: [{ host: 'a:1', policies: ${policies} }] }]`,
    ]
    const requests = '- { listener: streams, expect: 200 }\n'
    writeFileSync(file, `name: stream\nconfig:\n  ${config.join('\n  ')}\nrequests:\n${requests}`)
    const { out } = await run(file)
    assert.match(out, /stream: 1 of 1 passed/)
  })

  it('reads the response to CONNECT', async () => {
    const rejected = '- { method: CONNECT, host: "api:443", path: "api:443", expect: 405 }\n'
    assert.match((await run(suite('connect', rejected))).out, /connect: 1 of 1 passed/)
    const wrong = suite('wrong-connect', rejected.replace('405', '200'))
    assert.match((await run(wrong)).out, /expected 200, got 405/)
  })

  for (const [what, request, failure] of [
    ['another status', '{ expect: 200 }', 'expected 200, got 201\n'],
    [
      'another status, by a rule',
      '{ path: /denied, expect: 200 }',
      "expected 200, got 403: Deny[1] matches: request.path == '/denied' (",
    ],
    [
      'another status, since a rule admits it',
      '{ expect: 403 }',
      "expected 403, got 201: Allow[0] matches: request.method == 'GET' (",
    ],
    ['what cannot be sent', '{ path: "/a b", expect: closed }', 'cannot send the request: '],
    ['no method', '{ method: "A B", expect: closed }', 'cannot send the request: '],
    ['no header', '{ headers: { a: "b\\nc" }, expect: closed }', 'cannot send the request: '],
    [
      'another reason',
      '{ method: PUT, expect: 403, because: "Deny[1] matches" }',
      'expected because `Deny[1] matches`, got `no Allow matches`',
    ],
    [
      'another policy',
      '{ expect: { policy: x } }',
      'expected policy `x` to decide, got `route:api`',
    ],
    ['another stage', '{ expect: { stage: backend } }', 'expected a decision at stage backend'],
    ['no closed connection', '{ expect: closed }', 'to be closed, got 201'],
    ['another header', '{ expect: { headers: { x-own: "2" } } }', 'got `1`'],
    [
      'a header too many',
      '{ expect: { headers: { x-own: null } } }',
      'unexpected header in the response: `x-own: 1`',
    ],
    ['another body', '{ expect: { body: x } }', 'expected a body that contains "x", got "made"'],
    ['a backend that was reached', '{ expect: { upstream: false } }', 'api received GET /'],
    [
      'a backend that was not',
      '{ method: PUT, expect: { upstream: {} } }',
      'no backend received the request',
    ],
    ['another path', '{ expect: { upstream: { path: /x } } }', 'path "/x", got "/"'],
    ['an unknown listener', '{ listener: x, expect: 201 }', 'unknown listener `x`'],
    ['an unknown identity', '{ as: x, expect: 201 }', 'unknown identity `x`'],
  ] as const) {
    it(`fails: ${what}`, async () => {
      const { code, out } = await run(suite('fails', `- ${request}\n`))
      assert.match(out, new RegExp(failure.replaceAll(/[[\]()]/g, '\\$&')))
      assert.equal(code, 1)
    })
  }

  it('writes JSON and JUnit', async () => {
    const file = suite('both', '- { expect: 201 }\n- { name: "<&>", expect: 200 }\n')
    const junit = join(FOLDER, 'junit.xml')
    const { code, out } = await run(file, '--json', '--junit', junit)
    assert.equal(code, 1)
    const { passed, failed, suites } = JSON.parse(out)
    assert.deepEqual([passed, failed, suites[0].cases[1].name], [1, 1, '<&>'])
    const xml = readFileSync(junit, 'utf8')
    assert.match(xml, /<testsuite name="both" tests="2" failures="1" errors="0"/)
    assert.match(
      xml,
      /name="&lt;&amp;&gt;" time="[\d.]+">\n {6}<failure message="expected 200, got 201">/,
    )
  })

  it('fails if the results cannot be written', async () => {
    const file = suite('unwritten', '- { expect: 201 }\n')
    const { code, err } = await run(file, '--junit', join(FOLDER, 'none', 'junit.xml'))
    assert.match(err, /cannot write the results: the directory does not exist/)
    assert.equal(code, 1)
  })

  it('does not run an invalid configuration', async () => {
    const file = join(FOLDER, 'invalid.yaml')
    writeFileSync(
      file,
      'name: a\nconfig: { gateways: { default: { port: 0 } } }\nrequests: [{ expect: 200 }]\n',
    )
    const { code, out } = await run(file)
    assert.match(out, /not run\nerror\[PC/)
    assert.equal(code, 1)
  })

  it('requires a file', async () => assert.equal((await run()).code, 2))
  it('reports a missing file', async () => {
    assert.match((await run('no-such.yaml')).out, /PC0601/)
  })
})

describe('test case files', () => {
  for (const { code, example } of TESTING_CODES.codes) {
    if (code !== 'PC0601' && code !== 'PC0602') continue
    it(`${code}: what is wrong says so, and what is right nothing`, () => {
      const codes = (text: string) => parseSuite(text, 'a').diagnostics.map((said) => said.code)
      assert.deepEqual([...new Set(codes(example.wrong))], [code])
      assert.deepEqual(codes(example.right), [])
    })
  }

  for (const [request, column, message, hint] of [
    ['{ form: 10.0.0.1, expect: 200 }', 5, 'unknown field `form`', 'did you mean `from`?'],
    [
      '{ headers: { x-a: true }, expect: 200 }',
      21,
      /^expected a string.* found true/,
      'put it in quotes',
    ],
    ['{ path: / }', 3, '`expect` is missing', /^expected a number/],
    ['{ expect: 20 }', 13, '`expect` must be at least 100', undefined],
    ['{ expect: { statuz: 200 } }', 15, 'unknown field `statuz`', 'did you mean `status`?'],
    ['{ token: old, expect: 200 }', 12, /^expected `valid`, `expired`/, undefined],
    ['{ from: 300.1.1.1, expect: 200 }', 11, 'not an IP address', /10\.0\.0\.7/],
  ] as const) {
    it(`say what is wrong: ${request}`, () => {
      const text = `name: a\nconfig: b\nrequests:\n- ${request}\n`
      const [said, ...more] = parseSuite(text, 'a').diagnostics
      assert.deepEqual(more, [])
      assert.deepEqual(said?.origin, { kind: 'file', file: 'a', line: 4, column })
      const matches = (got: string | undefined, wanted: string | RegExp | undefined) =>
        wanted instanceof RegExp ? assert.match(got ?? '', wanted) : assert.equal(got, wanted)
      matches(said?.message, message)
      matches(said?.hint, hint)
    })
  }

  it('have no variables: a dollar sign is literal', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax in a file
    const text = "name: a\nconfig: b\nrequests:\n- { path: '/${A}', expect: 200 }\n"
    // biome-ignore lint/suspicious/noTemplateCurlyInString: this is the syntax in a file
    assert.equal(parseSuite(text, 'a').value?.requests[0]?.path, '/${A}')
  })
})

describe('certificates of a test run', () => {
  it('have the names and dates requested', () => {
    const authority = makeAuthority('authority')
    const own = new X509Certificate(authority.cert)
    for (const names of [[], ['DNS:a.test', 'URI:spiffe://a/b']]) {
      const issued = new X509Certificate(authority.issue('alice', names).cert)
      assert.ok(issued.verify(own.publicKey) && issued.checkIssued(own))
      assert.equal(issued.subject, 'CN=alice')
      assert.equal(issued.ca, false)
      assert.equal(issued.subjectAltName, names.length === 0 ? undefined : names.join(', '))
    }
    assert.equal(own.ca, true)
  })
})
