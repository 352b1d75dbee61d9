import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { SignJWT } from 'jose'
import { DECISION_FIELDS } from '../../src/telemetry/decision-record.ts'
import { type Deciding, freePort, startBackend, startDeciding } from './gateway.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const jwks = JSON.stringify({
  keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', use: 'sig', alg: 'ES256' }],
})

function token(claims: Readonly<Record<string, unknown>>, expires = '5m'): Promise<string> {
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'k' })
    .setIssuer('https://issuer.test')
    .setExpirationTime(expires)
    .sign(privateKey)
}

describe('decisions about requests', () => {
  let backend: Server & { readonly port: number }
  let port: number
  let own: Deciding

  before(async () => {
    backend = await startBackend()
    port = await freePort()
    own = await startDeciding(`
config:
  decisions: { show: [jwt.group, "request.headers['X-Team']"] }
  sensitiveHeaders: [x-secret]
gateways:
  default: { port: ${port} }
routes:
- name: token
  gateways: [default]
  matches: [{ path: { pathPrefix: /token } }]
  policies:
    jwtAuthentication: { issuer: 'https://issuer.test', jwks: { inline: '${jwks}' } }
    authorization:
      rules:
      - require: jwt.group == 'eng'
      - require: request.headers['authorization'] != ''
      - require: request.headers['x-secret'] != 'x'
  backends: [{ host: '127.0.0.1:${backend.port}' }]
- name: rules
  gateways: [default]
  matches: [{ path: { pathPrefix: /rules } }]
  policies:
    authorization:
      rules:
      - deny: request.path.startsWith('/rules/admin')
      - allow: request.headers['x-team'] == 'eng' && request.headers['x-level'] == '3'
      - allow: request.method == 'PUT' && request.headers['x-team'] == 'ops'
  backends: [{ host: '127.0.0.1:${backend.port}' }]
- name: behind
  gateways: [default]
  matches: [{ path: { pathPrefix: /behind } }]
  backends:
  - host: '127.0.0.1:${backend.port}'
    policies:
      authorization: { action: Require, policy: { matchExpressions: ["request.method == 'GET'"] } }
- name: audited
  gateways: [default]
  matches: [{ path: { pathPrefix: /audited } }]
  policies:
    authorization:
      mode: Audit
      rules: [{ require: "request.headers['x-team'] == 'eng'" }]
  backends: [{ host: '127.0.0.1:${backend.port}' }]
`)
  })

  after(async () => {
    await own.stop()
    backend.close()
    backend.closeAllConnections()
  })

  async function ask(path: string, init: RequestInit = {}) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
    const body = await response.text()
    const id = response.headers.get('x-request-id') ?? ''
    return { status: response.status, id, body }
  }

  it('are found by the id that the client received, as soon as the client has it', async () => {
    const { status, id, body } = await ask('/rules/admin')
    assert.equal(status, 403)
    const [record, ...more] = own.decisions({ id })
    assert.deepEqual(more, [])
    const { rule, cause, verdict, enforced } = record ?? assert.fail()
    assert.deepEqual([verdict, enforced, cause], ['denied', true, 'matched'])
    assert.deepEqual(
      [rule?.policy, rule?.action, rule?.index, rule?.section, rule?.level],
      ['route:rules', 'Deny', 0, 'traffic', 'route'],
    )
    assert.match(rule?.origin ?? '', /^gateway\.yaml:\d+:\d+$/)
    assert.doesNotMatch(body, /admin'|startsWith|route:/)
  })

  it('record place and request, and have no field that is missing from the reference', async () => {
    const { id } = await ask('/rules/x?key=abc', { headers: { host: 'a.test' } })
    const [record] = own.decisions({ id })
    assert.deepEqual(
      [record?.gateway, record?.listener, record?.route, record?.method, record?.path],
      ['default', 'default', 'rules', 'GET', '/rules/x'],
    )
    assert.match(record?.source ?? '', /^127\.0\.0\.1:\d+$/)
    assert.equal(record?.status, 403)
    const names: readonly string[] = DECISION_FIELDS.map(({ name }) => name)
    for (const one of own.decisions()) {
      const unknown = Object.keys(one).filter((name) => !names.includes(name))
      assert.deepEqual(unknown, [])
    }
  })

  it('name the Allow rule that came closest, and the condition that failed', async () => {
    const { id } = await ask('/rules/x', { headers: { 'x-team': 'eng' } })
    const [record] = own.decisions({ id })
    assert.equal(record?.cause, 'no-allow-match')
    assert.equal(record?.nearest?.index, 1)
    assert.deepEqual(
      record?.nearest?.misses.map(({ condition, cause, variable }) => [condition, cause, variable]),
      [["request.headers['x-level'] == '3'", 'unset', "request.headers['x-level']"]],
    )
    assert.deepEqual(record?.examined, { rules: 2, of: 2, search: 'all' })
  })

  it('show the configured attributes, and never credentials', async () => {
    const headers = {
      authorization: `Bearer ${await token({ sub: 'alice', group: 'dev' })}`,
      'x-secret': 'sesame',
    }
    const { id, status } = await ask('/token', { headers })
    assert.equal(status, 403)
    const [record] = own.decisions({ id })
    const shown = Object.fromEntries((record?.attributes ?? []).map((one) => [one.name, one]))
    assert.deepEqual(shown['jwt.group'], { name: 'jwt.group', state: 'shown', value: 'dev' })
    assert.equal(shown["request.headers['x-secret']"]?.state, 'redacted')
    assert.equal(shown['request.headers.authorization']?.state, 'redacted')
    assert.doesNotMatch(JSON.stringify(own.decisions()), /sesame|eyJ/)
  })

  it('name a missing claim, with the claims that are present', async () => {
    const headers = { authorization: `Bearer ${await token({ sub: 'alice', groups: ['eng'] })}` }
    const { id } = await ask('/token', { headers })
    const [record] = own.decisions({ id })
    assert.deepEqual([record?.cause, record?.variable], ['unset', 'jwt.group'])
    assert.ok(record?.present?.includes('groups'))
  })

  for (const [what, sent, fault] of [
    ['no token', undefined, 'missing'],
    ['what is no token', 'abc', 'malformed'],
    ['a token that is over', 'expired', 'expired'],
  ] as const) {
    it(`say precisely why ${what} is not accepted, which the client does not learn`, async () => {
      const text = sent === 'expired' ? await token({ sub: 'a' }, '-5m') : sent
      const headers = text === undefined ? {} : { authorization: `Bearer ${text}` }
      const { id, status, body } = await ask('/token', { headers })
      assert.equal(status, 401)
      const [record] = own.decisions({ id })
      assert.deepEqual(
        [record?.kind, record?.cause, record?.reason],
        ['authentication', 'credentials', fault],
      )
      assert.deepEqual(
        [record?.credentials?.method, record?.credentials?.policy],
        ['jwt', 'route:token'],
      )
      assert.equal(body.includes(fault), false)
    })
  }

  it('are made again after a backend is selected', async () => {
    assert.equal((await ask('/behind')).status, 200)
    const { id, status } = await ask('/behind', { method: 'POST' })
    assert.equal(status, 403)
    const [record] = own.decisions({ id })
    assert.deepEqual(
      [record?.stage, record?.backend, record?.cause],
      ['backend', 'behind/0', 'false'],
    )
  })

  it('are recorded and counted for audit blocks, and deny no request', async () => {
    const before = own.decisions({ verdict: ['would-deny'] }).length
    assert.equal((await ask('/audited')).status, 200)
    assert.equal((await ask('/audited', { headers: { 'x-team': 'eng' } })).status, 200)
    await own.only({ verdict: ['would-deny'] })
    const [record, ...more] = own.decisions({ verdict: ['would-deny'] })
    assert.deepEqual([before, more.length], [0, 0])
    assert.deepEqual(
      [record?.verdict, record?.enforced, record?.rule?.mode, record?.status],
      ['denied', false, 'Audit', 200],
    )
    const series =
      'portcullis_authorization_audit_denials_total{policy="route:audited",rule="authorization[0]",action="Require",cause="unset"}'
    assert.equal(own.metric(series), 1)
  })

  it('are counted by policy, rule, action and cause', async () => {
    const labels =
      'policy="route:rules",rule="authorization[1]",verdict="allowed",action="Allow",cause="matched"'
    const before = own.metric(`portcullis_authorization_decisions_total{${labels}}`) ?? 0
    await ask('/rules/x', { headers: { 'x-team': 'eng', 'x-level': '3' } })
    assert.equal(own.metric(`portcullis_authorization_decisions_total{${labels}}`), before + 1)
    const errors = 'policy="route:token",rule="authorization[0]",action="Require",cause="unset"'
    assert.equal(own.metric(`portcullis_authorization_rule_errors_total{${errors}}`), 1)
  })

  it('are recorded in the same way over HTTP/2', async () => {
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    const stream = session.request({ ':path': '/rules/admin' })
    const [headers] = await once(stream, 'response')
    stream.resume()
    await once(stream, 'close')
    session.close()
    assert.equal(headers[':status'], 403)
    const [record] = own.decisions({ id: String(headers['x-request-id']) })
    assert.deepEqual([record?.cause, record?.rule?.index], ['matched', 0])
  })

  it('are named by rule in the access log', async () => {
    const { id } = await ask('/rules/admin/x')
    const line = own.lines.find((one) => one.includes(id)) ?? ''
    assert.match(line, /reason=authorization detail="route:rules authorization\[0\] matched"/)
  })
})

describe('requests that are allowed', () => {
  it('are recorded with the response of the backend if all of them are sampled', async () => {
    const backend = await startBackend()
    const port = await freePort()
    const own = await startDeciding(`
config: { decisions: { allowed: 1 } }
gateways: { default: { port: ${port} } }
routes:
- name: all
  gateways: [default]
  policies: { authorization: { rules: [{ allow: "request.method == 'PUT'" }, { allow: "request.method == 'GET'" }] } }
  backends: [{ host: '127.0.0.1:${backend.port}' }]
`)
    const response = await fetch(`http://127.0.0.1:${port}/x`)
    await response.text()
    const record = await own.only({ verdict: ['allowed'] })
    assert.deepEqual(
      [record.cause, record.rule?.index, record.status, record.backend, record.enforced],
      ['matched', 1, 200, 'all/0', true],
    )
    await own.stop()
    backend.close()
    backend.closeAllConnections()
  })
})

describe('metrics of decisions', () => {
  it('drop policies that are no longer in the configuration', async () => {
    const backend = await startBackend()
    const port = await freePort()
    const text = (policy: string) => `
gateways: { default: { port: ${port} } }
routes:
- name: ${policy}
  gateways: [default]
  policies: { authorization: { rules: [{ deny: "request.path == '/x'" }] } }
  backends: [{ host: '127.0.0.1:${backend.port}' }]
`
    const own = await startDeciding(text('old'))
    const series = (policy: string) =>
      own.metric(
        `portcullis_authorization_decisions_total{policy="route:${policy}",rule="authorization[0]",verdict="denied",action="Deny",cause="matched"}`,
      )
    const deny = async () => {
      const response = await fetch(`http://127.0.0.1:${port}/x`)
      await response.text()
      assert.equal(response.status, 403)
    }
    await deny()
    assert.equal(series('old'), 1)
    await own.apply(text('new'))
    await deny()
    assert.deepEqual([series('old'), series('new')], [undefined, 1])
    await own.stop()
    backend.close()
    backend.closeAllConnections()
  })

  it('drop issuers that are no longer in the configuration', async () => {
    const keys = createServer((_, response) => response.end('{"keys":[]}'))
    await new Promise<void>((done) => keys.listen(0, '127.0.0.1', done))
    const url = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/keys`
    const port = await freePort()
    const text = (issuer: string) => `
gateways: { default: { port: ${port} } }
routes:
- policies: { jwtAuthentication: { issuer: ${issuer}, jwks: { url: '${url}' } } }
  backends: [{ host: '127.0.0.1:1' }]
`
    const own = await startDeciding(text('https://old.example'))
    const fetched = (issuer: string) =>
      own.metric(
        `portcullis_jwks_refreshes_total{provider="https://${issuer}.example",outcome="changed",trigger="start"}`,
      )
    const age = (issuer: string) =>
      own.metric(`portcullis_jwks_age_seconds{provider="https://${issuer}.example"}`)
    const until = async (issuer: string) => {
      for (let i = 0; i < 200 && fetched(issuer) === undefined; i++) await wait(10)
      assert.equal(fetched(issuer), 1)
      assert.notEqual(age(issuer), undefined)
    }
    await until('old')
    await own.apply(text('https://new.example'))
    await until('new')
    assert.deepEqual([fetched('old'), age('old')], [undefined, undefined])
    await own.stop()
    keys.close()
  })
})

describe('a storm of denials', () => {
  it('is recorded without the search for the nearest rule, and the records say so', async () => {
    const backend = await startBackend()
    const port = await freePort()
    const rules = Array.from(
      { length: 2_000 },
      (_, i) =>
        `      - allow: request.headers['h${i}'].matches('^a+${i}$') && request.path == '/${i}'`,
    )
    const own = await startDeciding(`
gateways: { default: { port: ${port} } }
routes:
- gateways: [default]
  policies:
    authorization:
      rules:
${rules.join('\n')}
  backends: [{ host: '127.0.0.1:${backend.port}' }]
`)
    // Each search uses part of a budget per second; this test reads no clock.
    for (let i = 0; i < 40; i++) {
      await Promise.all(
        Array.from({ length: 25 }, async () => {
          const response = await fetch(`http://127.0.0.1:${port}/x`)
          await response.text()
          assert.equal(response.status, 403)
        }),
      )
      if (own.decisions().some(({ examined }) => examined?.search === 'skipped')) break
    }
    const searches = new Set(own.decisions().map(({ examined }) => examined?.search))
    assert.ok(searches.has('bounded') && searches.has('skipped'), [...searches].join())
    await own.stop()
    backend.close()
    backend.closeAllConnections()
  })
})
