import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { describe, it } from 'node:test'
import { loadFile, loadText } from '../../sources/file/load.ts'
import type { DecisionSummary } from '../decisions/summary.ts'
import { Space } from '../symbolic/space.ts'
import { type LintOptions, lint } from './lint.ts'

const TOKEN = (more = '') =>
  `jwtAuthentication: { issuer: 'https://i.example', audiences: [a], jwks: { inline: '{"keys":[]}' }${more} }`
const PROVIDER = (more = '') =>
  `jwtAuthentication: { mode: Optional, issuer: 'https://i.example', audiences: [a], jwks: { inline: '{"keys":[]}' }${more} }`
const rules = (...list: readonly string[]) =>
  `authorization: { rules: [${list.map((rule) => `{ ${rule} }`).join(', ')}] }`

interface Written {
  readonly gateway?: string
  readonly route?: readonly string[]
  readonly more?: string
}

function config({ gateway = '', route = [], more = '' }: Written): string {
  const policies = route.map((policy) => `    ${policy}\n`).join('')
  return `gateways:\n  default: { port: 8080${gateway} }\nroutes:\n- name: api\n${policies === '' ? '' : `  policies:\n${policies}`}  backends: [{ host: 'a:80' }]\n${more}`
}

function said(text: string, options: LintOptions = {}): readonly string[] {
  const { value, diagnostics } = loadText(text, 'a.yaml', { environment: {} }).result
  assert.deepEqual(
    diagnostics.filter(({ severity }) => severity === 'error'),
    [],
  )
  assert.ok(value)
  return lint(value, options).map(({ diagnostic: { code, severity } }) => `${severity} ${code}`)
}

const targeted = (name: string, body: string, target = 'route: api') =>
  `- name: ${name}\n  target: { ${target} }\n  traffic:\n    ${body}\n`

describe('lint', () => {
  for (const [what, written, expected] of [
    [
      'a token verified at the gateway is seen at a route',
      { gateway: `, ${TOKEN()}`, route: [rules(`allow: "jwt.sub == 'a'"`)] },
      [],
    ],
    [
      'that of a neighbour is not',
      {
        more: `policies:\n${targeted('one', TOKEN())}${targeted('two', rules(`allow: "jwt.sub == 'a'"`))}`,
      },
      ['error AZ001'],
    ],
    [
      'a part that never holds beside one that can',
      { route: [rules(`allow: "jwt.sub == 'a' || request.method == 'GET'"`)] },
      ['warning AZ001'],
    ],
    [
      'another variable of who asks',
      { route: [rules(`allow: "apiKey.owner == 'a'"`)] },
      ['error AZ001'],
    ],
    [
      'a Deny on a claim that may be absent',
      { route: [TOKEN(), rules(`deny: "jwt.group != 'a'"`, `allow: "request.method == 'GET'"`)] },
      ['error AZ002'],
    ],
    [
      'a Deny on one that is required',
      {
        route: [
          TOKEN(', jwtValidationOptions: { requiredClaims: [group] }'),
          rules(`deny: "jwt.group != 'a'"`, `allow: "request.method == 'GET'"`),
        ],
      },
      [],
    ],
    [
      'a Deny that asks whether it is there',
      {
        route: [
          TOKEN(),
          rules(`deny: "has(jwt.group) && jwt.group != 'a'"`, `allow: "request.method == 'GET'"`),
        ],
      },
      [],
    ],
    [
      'a Deny whose gap another rule closes',
      { route: [TOKEN(), rules(`deny: "jwt.group != 'a'"`, 'require: "has(jwt.group)"')] },
      [],
    ],
    [
      'a Deny on who signed in, where somebody must',
      {
        route: [
          `basicAuth: { users: ['a:{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0='] }`,
          rules(`deny: "basicAuth.username != 'a'"`, `allow: "request.method == 'GET'"`),
        ],
      },
      [],
    ],
    [
      'and where nobody must',
      {
        route: [
          `basicAuth: { mode: Optional, users: ['a:{SHA}qZk+NkcGgWq6PiVxeFDCbJzQ2J0='] }`,
          rules(`deny: "basicAuth.username != 'a'"`, `allow: "request.method == 'GET'"`),
        ],
      },
      ['error AZ002'],
    ],
    [
      'a Deny on what is always there',
      { route: [rules(`deny: "request.method != 'GET'"`, `allow: "request.path == '/a'"`)] },
      [],
    ],
    [
      'the text of an address and a range',
      { route: [rules(`allow: "string(source.address) == '10.0.0.0/8'"`)] },
      ['error AZ003'],
    ],
    [
      'the text of an address and its own spelling',
      { route: [rules(`allow: "string(source.address) == '10.0.0.7'"`)] },
      [],
    ],
    [
      'the server name in a traffic rule',
      { route: [rules(`require: "destination.hostname == 'a'"`)] },
      ['error AZ004'],
    ],
    [
      'the server name on one of two listeners',
      {
        more: `  gateways: [default]\ntcpRoutes:\n- { gateways: [tls], backends: [{ host: 'a:80' }] }\nfrontendPolicies:\n  networkAuthorization: { rules: [{ allow: "destination.hostname == 'a'" }] }\n`,
        gateway: ' }\n  tls: { port: 8443, protocol: TLS',
      },
      ['warning AZ004'],
    ],
    [
      'a certificate that no listener asks for',
      { route: [rules(`allow: "source.subjectCn == 'a'"`)] },
      ['warning AZ010'],
    ],
    [
      'a second block of Allow at another level',
      {
        gateway: `, ${rules(`allow: "request.method == 'GET'"`)}`,
        route: [rules(`allow: "request.path == '/a'"`)],
      },
      ['warning AZ007'],
    ],
    [
      'a second block that admits nothing more',
      {
        gateway: `, ${rules(`allow: "request.method == 'GET'"`)}`,
        route: [rules(`allow: "request.method == 'GET' && request.path == '/a'"`)],
      },
      ['warning AZ010'],
    ],
    [
      'a rule twice',
      {
        route: [rules(`require: "request.method == 'GET'"`, `require: "'GET' == request.method"`)],
      },
      ['warning AZ010'],
    ],
    [
      'an Allow behind a Deny',
      {
        route: [
          rules(
            `deny: "request.path.startsWith('/a/')"`,
            `allow: "request.path == '/a/b'"`,
            `allow: "request.path == '/c'"`,
          ),
        ],
      },
      ['warning AZ010'],
    ],
    [
      'rules that refuse everything together',
      {
        route: [rules(`require: "request.method == 'GET'"`, `require: "request.method == 'PUT'"`)],
      },
      ['error AZ010'],
    ],
    [
      'rules in audit mode decide nothing',
      {
        route: [
          `authorization: { mode: Audit, rules: [{ require: "request.method == 'GET'" }, { require: "request.method == 'PUT'" }] }`,
        ],
      },
      [],
    ],
    [
      'a rule that is needed at another route',
      {
        gateway: `, ${rules(`require: "request.method == 'GET'"`)}`,
        route: [rules(`require: "request.method == 'GET' && request.path == '/a'"`)],
        more: `- { name: b, matches: [{ path: { exact: /b } }], backends: [{ host: 'a:80' }] }\n`,
      },
      [],
    ],
    [
      'a token that is Optional, asked for in a Require',
      { route: [PROVIDER(), rules(`require: "jwt.sub == 'a'"`)] },
      [],
    ],
    [
      'the issuer that it cannot have',
      { route: [TOKEN(), rules(`allow: "jwt.iss == 'https://j.example'"`)] },
      ['warning AZ010'],
    ],
    [
      'a scope as a part of a text',
      { route: [TOKEN(), rules(`allow: "jwt.scope.contains('read')"`)] },
      ['warning AZ014'],
    ],
    ['aud and one text', { route: [TOKEN(), rules(`allow: "jwt.aud == 'a'"`)] }, ['warning AZ014']],
    [
      'a pattern that is not anchored',
      { route: [rules(`allow: "request.path.matches('/api')"`)] },
      ['warning AZ012'],
    ],
    [
      'an exact path in a Deny',
      { route: [rules(`deny: "request.path == '/admin'"`, `allow: "request.method == 'GET'"`)] },
      ['warning AZ012'],
    ],
    [
      'a token for anybody, as one of several credentials',
      { route: [`authentication: { anyOf: [{ ${TOKEN().replace('audiences: [a], ', '')} }] }`] },
      ['info AZ017'],
    ],
    ...['has(jwt.group) ? jwt.group == 1 : true', '!has(jwt.group) ? true : jwt.group == 1'].map(
      (rule) =>
        [
          `a Require that says what to do without: ${rule}`,
          { route: [TOKEN(), rules(`require: "${rule}"`)] },
          ['warning AZ006'],
        ] as const,
    ),
    [
      'a Require that denies without',
      { route: [TOKEN(), rules(`require: "has(jwt.group) ? jwt.group == 1 : false"`)] },
      [],
    ],
    [
      'a Deny of whoever is not marked as something',
      { route: [TOKEN(), rules(`deny: "!jwt.verified"`, `allow: "request.method == 'GET'"`)] },
      ['error AZ002', 'warning AZ011'],
    ],
    [
      'a Deny of whoever is marked',
      {
        route: [TOKEN(), rules(`deny: "jwt.blocked == true"`, `allow: "request.method == 'GET'"`)],
      },
      [],
    ],
    [
      'an exact path in a Deny that names what is below it, too',
      {
        route: [
          rules(
            `deny: "request.path == '/admin' || request.path.startsWith('/admin/')"`,
            `deny: "request.path == '/keys'"`,
            `deny: "request.path.startsWith('/keys/')"`,
            `allow: "request.method == 'GET'"`,
          ),
        ],
      },
      [],
    ],
  ] as readonly (readonly [string, Written, readonly string[]])[]) {
    it(what, () => assert.deepEqual(said(config(written)), expected))
  }

  const decisions = (claims: readonly string[], records = 3): DecisionSummary => ({
    records,
    first: '2026-01-01T00:00:00Z',
    last: '2026-01-02T00:00:00Z',
    decided: new Map(),
    claims: new Set(claims),
  })
  const grouped = config({ route: [TOKEN(), rules(`allow: "jwt.grp == 'a'"`)] })
  for (const [what, claims, expected] of [
    ['a claim that was seen', ['grp'], ['info AZ020']],
    ['one that was never seen', ['sub'], ['info AZ017', 'info AZ020']],
    ['one that is almost like one that was', ['gr'], ['info AZ017', 'info AZ020']],
    ['one that is', ['sub', 'grpx'], ['info AZ020', 'warning AZ019']],
  ] as const) {
    it(`with recorded decisions: ${what}`, () => {
      assert.deepEqual([...said(grouped, { decisions: decisions(claims) })].sort(), expected)
    })
  }

  /** Only the last Allow rule can admit a request. */
  const manyRules = (length: number) => {
    const put = Array.from(
      { length },
      (_, index) => `allow: "request.path == '/x${index}' && request.method == 'PUT'"`,
    )
    const all = [`require: "request.method == 'GET'"`, ...put, `allow: "request.method == 'GET'"`]
    return config({ route: [rules(...all)] })
  }

  it('does not report a rule set that is too large to analyze', () => {
    const found = said(manyRules(1_000))
    assert.ok(found.length > 0)
    assert.ok(found.every((one) => one === 'warning AZ010'))
  })

  it('derives a number of formulas that grows no faster than the number of rules', (t) => {
    const derive = t.mock.method(Space.prototype, 'formula')
    const formulasFor = (count: number) => {
      derive.mock.resetCalls()
      said(manyRules(count))
      return derive.mock.callCount()
    }
    const few = formulasFor(100)
    const many = formulasFor(200)
    assert.ok(many < 2.2 * few, `${few} formulas for 100 rules, ${many} for 200`)
  })

  it('reports only the expected finding for the quick start', () => {
    const { value } = loadFile('examples/quickstart.yaml', { environment: {} }).result
    assert.ok(value)
    assert.deepEqual(
      lint(value).map(({ diagnostic }) => `${diagnostic.severity} ${diagnostic.code}`),
      ['info AZ012'],
    )
  })

  it('accepts every test configuration', () => {
    for (const file of globSync('test/config/*.in.{yaml,json}')) {
      const { value } = loadFile(file, { environment: {} }).result
      if (value !== undefined) lint(value)
    }
  })
})
