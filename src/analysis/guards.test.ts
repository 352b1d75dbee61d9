import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hypotheticalOf } from '../cli/diff.ts'
import { openVerdicts } from '../cli/verdicts.ts'
import type { Model } from '../model/model.ts'
import { loadText } from '../sources/file/load.ts'
import { guardsAt } from './guards.ts'
import { prove } from './invariants/prove.ts'
import type { InvariantScope } from './invariants/scope.ts'

function modelFrom(text: string): Model {
  const { value, diagnostics } = loadText(text, 'gateway.yaml', { environment: {} }).result
  assert.ok(value, String(diagnostics[0]?.message))
  return value
}

const TOKEN = `jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } }`
const file = (policies: string, more = '') => `
gateways: { default: { port: 8080 } }
routes:
- name: api
  hostnames: [api.test]
  matches: [{ path: { pathPrefix: /api } }]
  policies: { ${policies} }
  backends: [{ host: 'a:80' }]
${more}`
const rules = (...list: readonly string[]) =>
  `authorization: { rules: [${list.map((rule) => `{ ${rule} }`).join(', ')}] }`

const AUDIT = `authorization: { mode: Audit, rules: [{ require: "request.method == 'GET'" }] }`

const ORIGIN = { kind: 'object', object: 'invariant', field: '' } as const

function ask(text: string, admitted: string, on: InvariantScope = {}) {
  const invariant = { name: 'it', origin: ORIGIN, on, when: undefined, admitted }
  return prove(modelFrom(text), invariant, (model) => {
    const verdicts = openVerdicts(model)
    return {
      decide: (request) => verdicts.decide(hypotheticalOf(request), request.isConnection),
      close: () => verdicts.close(),
    }
  })
}

describe('whether a request can be admitted although the condition is not true of it', () => {
  const STAFF = rules(`allow: "'staff' in jwt.groups"`, `deny: "jwt.sub == 'eve'"`)
  for (const [what, policies, condition, expected] of [
    ['a rule says so', `${TOKEN}, ${STAFF}`, "'staff' in jwt.groups", 'proven'],
    ['a Deny says so', `${TOKEN}, ${STAFF}`, "jwt.sub != 'eve' || !has(jwt.sub)", 'proven'],
    ['a Deny does not say so', `${TOKEN}, ${STAFF}`, "jwt.sub != 'eve'", 'refuted'],
    ['it says less', `${TOKEN}, ${STAFF}`, "jwt.groups.exists(g, g in ['staff', 'x'])", 'proven'],
    ['it says more', `${TOKEN}, ${STAFF}`, "'admin' in jwt.groups", 'refuted'],
    ['a token is needed', TOKEN, "jwt.iss == 'https://i.example'", 'proven'],
    ['a token is optional', TOKEN.replace('{', '{ mode: Optional,'), 'has(jwt.iss)', 'refuted'],
    ['nobody has a token', 'timeout: {}', 'has(jwt.sub)', 'refuted'],
    ['the route says so', 'timeout: {}', "request.host == 'api.test'", 'proven'],
    ['the route says so of the path', 'timeout: {}', "request.path.startsWith('/api')", 'proven'],
    [
      'a pattern says so',
      rules(`require: "request.path.matches('^/api/v[0-9]')"`),
      "request.path.startsWith('/api/v')",
      'proven',
    ],
    ['the route says more', 'timeout: {}', "request.path.startsWith('/api/')", 'refuted'],
    ['a rule in audit mode', AUDIT, "request.method == 'GET'", 'refuted'],
    [
      'a form that is not looked into',
      rules('require: "size(request.path) > 600"'),
      'size(request.path) > 500',
      'not known',
    ],
  ] as const) {
    it(`${what}: ${expected}`, () => {
      assert.equal(ask(file(policies), condition).kind, expected)
    })
  }

  it('shows the values', () => {
    const found = ask(file(`${TOKEN}, ${rules('require: "jwt.risk < 0.9"')}`), 'jwt.risk < 0.5')
    assert.equal(found.kind, 'refuted')
    assert.ok(found.kind === 'refuted')
    const { example, route } = found.examples[0] as (typeof found.examples)[0]
    const risk = example.identity['jwt']?.['risk'] as number
    assert.ok(risk >= 0.5 && risk < 0.9)
    assert.equal(route, 'api')
    assert.equal(example.host, 'api.test')
  })

  it('names the part that is not analyzed', () => {
    const text = file(rules(`require: "request.path.lowerAscii() == '/api/v1'"`))
    const found = ask(text, "request.path.contains('v')")
    assert.ok(found.kind === 'not known', found.kind)
    assert.match(found.because[0]?.why ?? '', /request\.path\.lowerAscii\(\) == '\/api\/v1'/)
  })

  it('checks all routes, or the given one', () => {
    const open = `- { name: open, matches: [{ path: { exact: /open } }], backends: [{ host: 'a:80' }] }\n`
    const text = file(`${TOKEN}, ${STAFF}`, open)
    assert.equal(ask(text, "'staff' in jwt.groups", { route: 'api' }).kind, 'proven')
    assert.equal(ask(text, "'staff' in jwt.groups", { route: 'open' }).kind, 'refuted')
    assert.equal(ask(text, "'staff' in jwt.groups").kind, 'refuted')
  })
})

describe('whether a route is guarded', () => {
  for (const [policies, expected, anonymous = expected] of [
    ['timeout: {}', 'nothing'],
    [rules(`require: "request.path.startsWith('/')"`), 'nothing'],
    [rules('require: "has(request.path)"'), 'nothing'],
    [rules(`allow: "'x' in request.headers || !('x' in request.headers)"`), 'nothing'],
    [rules(`allow: "'x' in request.headers"`, `allow: "!('x' in request.headers)"`), 'nothing'],
    [rules(`allow: "request.method == 'GET'"`, `allow: "request.method != 'GET'"`), 'nothing'],
    [rules(`allow: "request.host == 'api.test'"`), 'nothing'],
    [rules(`require: "request.path.startsWith('/api')"`), 'nothing'],
    [AUDIT, 'nothing'],
    [rules(`require: "request.method == 'GET'"`), 'something'],
    [rules(`deny: "request.path.startsWith('/api/admin')"`), 'something'],
    [TOKEN, 'something'],
    [TOKEN.replace('{', '{ mode: Optional,'), 'unknown', 'nothing'],
    [
      `${TOKEN.replace('{', '{ mode: Optional,')}, ${rules(`deny: "jwt.sub == 'eve'"`)}`,
      'something',
      'nothing',
    ],
    [TOKEN.replace('{', '{ mode: Permissive,'), 'nothing'],
    [`extAuthz: { host: 'a:1' }`, 'unknown'],
    [rules('require: "size(request.path) < 500"'), 'unknown'],
  ] as const) {
    it(`${policies}: ${expected}`, () => {
      const model = modelFrom(file(policies))
      const [found] = guardsAt(model)
      assert.equal(found?.guard.kind, expected)
      assert.equal(guardsAt(model, {}, 'anonymous')[0]?.guard.kind, anonymous)
    })
  }
})

describe('tokens', () => {
  const two = (own: string) => `
gateways:
  default:
    port: 8080
    jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' } }
    authorization: { rules: [{ require: "jwt.sub == 'a'" }] }
routes:
- name: api
  policies:
    jwtAuthentication: { issuer: 'https://i.example', jwks: { inline: '{"keys":[]}' }${own} }
    authorization: { rules: [{ require: "jwt.sub == 'b'" }] }
  backends: [{ host: 'a:80' }]
`
  it('from the same location are one token', () => {
    assert.equal(ask(two(''), 'false').kind, 'proven')
  })

  it('from different locations are two tokens', () => {
    const text = two(', location: { cookie: { name: t } }')
    // An example has only one token, so no example is found either.
    assert.equal(ask(text, 'false').kind, 'not known')
  })
})
